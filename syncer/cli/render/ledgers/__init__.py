"""Rendering of answers about ledgers: tables for people, with what they rest on at the end."""
