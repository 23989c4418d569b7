"""The whole fleet: clusters of different names, stores and scopes in one group."""
