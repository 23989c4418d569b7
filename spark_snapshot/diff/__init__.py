"""The difference of snapshots: what is found at each path, who wins, who has to change."""
