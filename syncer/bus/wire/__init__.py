"""The wire format: messages and their fields, to and from bytes."""
