"""Tests of the balancer on real brokers."""
