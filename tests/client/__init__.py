"""The writer of the typed client."""
