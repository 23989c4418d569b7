"""One region per daemon, on the embedded back ends: bad input, faults, life cycle."""
