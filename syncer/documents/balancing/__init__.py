"""JSON documents of load balancing."""
