"""Backups: a region's resources as a directory of readable files, with a manifest and checksums."""
