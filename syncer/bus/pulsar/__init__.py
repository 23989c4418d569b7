"""The bus on a replicated Pulsar topic."""
