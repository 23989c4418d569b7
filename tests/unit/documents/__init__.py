"""Tests of JSON documents."""
