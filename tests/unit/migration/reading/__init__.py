"""Reading clusters: JSON as Pulsar 4.0.8 writes it, and odd JSON."""
