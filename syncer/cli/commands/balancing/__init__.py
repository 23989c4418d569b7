"""Commands of the balancer advisor."""
