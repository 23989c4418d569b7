"""Recovery of a lost or rolled back database: bootstrap from the state of the peers."""
