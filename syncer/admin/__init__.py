"""Client of the admin REST API of Pulsar."""
