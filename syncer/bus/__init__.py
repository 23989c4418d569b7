"""Buses: one contract, one module each; the codec stands apart from the transport."""
