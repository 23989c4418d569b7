"""pulsar-syncer: keeps the metadata of separate Pulsar clusters equal, and proves that it is equal."""
