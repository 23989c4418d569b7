"""Commands about the daemons of several regions: contexts, and all of them at once."""
