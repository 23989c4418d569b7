"""Local deletes on their way out of the region: what is held, and what waits for the brokers' settings."""
