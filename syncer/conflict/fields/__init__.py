"""Fields: which of them each version of the brokers knows."""
