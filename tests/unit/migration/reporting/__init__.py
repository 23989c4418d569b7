"""What is told of a migration, made of what was noted while it ran."""
