"""Commands about the scope: which paths take part, and which way."""
