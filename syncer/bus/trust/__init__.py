"""Who has made a message: signatures of the group, and keys of its regions."""
