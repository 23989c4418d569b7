"""Message authentication: signatures of the group, and keys of its regions."""
