"""The pure core: order, clock, projections, guards and the replica. No IO, no clock, no thread."""
