"""Rights over HTTP: roles, callers, tokens, and the gate that tells one caller from another."""
