"""What operators ask of a daemon, and what it reports of itself."""
