"""Real faults on real servers: outside writers, a plan of faults by one seed, and a referee that reads what is left."""
