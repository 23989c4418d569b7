"""Who belongs to the group: join, leave, forget."""
