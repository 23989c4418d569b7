"""The loops of a running daemon: they move observations to the driver and its actions away, and decide nothing."""
