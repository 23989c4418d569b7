"""The contract of sidecar databases, on every one of them."""
