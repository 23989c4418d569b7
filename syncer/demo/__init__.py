"""Three regions on this machine, each a process of its own, and a story that tries to make them differ."""
