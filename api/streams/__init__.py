"""Streams of server-sent events: what a list or the status shows, told as it changes.

    look, once for all who follow ──▶ hub: the latest entries ──pull──▶ each stream, at its own pace ──▶ client
                                        └── a stream that is left behind all that is kept ends: it is too slow

A hub looks only while somebody follows. A stream that resumes reads what lies between by itself, and goes on by
the hub.
"""
