"""Tests of what is known of the fields of documents."""
