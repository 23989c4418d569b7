"""Exclusion: fields that a region has for itself, by which rules, and what that makes of reads and writes."""
