"""Rules of the migration controller."""
