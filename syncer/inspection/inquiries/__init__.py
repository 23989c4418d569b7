"""Questions about clusters that a process apart answers, beside the daemon that goes on with its own work."""
