"""Documents of regions that are reached by REST from another host."""
