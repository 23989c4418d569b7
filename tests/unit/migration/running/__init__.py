"""What carries a migration out."""
