"""The JSON documents that commands and the REST API answer with: a contract."""
