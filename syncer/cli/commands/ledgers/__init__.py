"""Commands about a cluster's ledgers."""
