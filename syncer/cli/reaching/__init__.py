"""The reach of a command: the region of this host by its database, or another one by REST, and which of them."""
