"""Rendering of documents: rows for operators, JSON for programs."""
