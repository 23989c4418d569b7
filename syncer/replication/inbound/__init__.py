"""Messages from the bus: received, attributed, admitted, folded, or put into the quarantine (dead-letter queue)."""
