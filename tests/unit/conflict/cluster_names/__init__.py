"""Names of clusters in documents, as regions tell them, and where these contradict."""
