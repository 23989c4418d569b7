"""One module per schema revision, oldest first. A released revision is never changed."""
