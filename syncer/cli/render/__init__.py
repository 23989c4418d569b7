"""How documents are shown: rows for people, JSON for programs."""
