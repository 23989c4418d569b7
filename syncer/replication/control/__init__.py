"""Control: operations that operators ask of a daemon, and its reports of itself."""
