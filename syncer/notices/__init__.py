"""Notices to operators: which are due, how they are written, signed and posted. No part of it reads a database."""
