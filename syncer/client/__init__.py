"""Typed client of a daemon's REST API: the calls that its description has, over HTTP, with our own errors.

    from syncer.client.calls import RegionCalls
    from syncer.client.http import HttpTransport
    from syncer.client.server import Server

    region = RegionCalls(HttpTransport(Server.of("https://syncer.example.com:8950", token=token)))
    for held in region.holds.holds(limit=10).found.items: …

What changes is told by ``syncer.client.following``: ``for told in Following(server, "operations"): …``

The calls are written by ``make client`` from ``docs/reference/openapi.json``. They block: within an
event loop, call them in a thread.
"""
