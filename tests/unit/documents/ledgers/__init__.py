"""Documents about ledgers."""
