"""The balancer beside Pulsar itself: real brokers, and its own classes on fleets drawn by seed."""
