"""Commands of migrations: plan, check, rehearse, steer, look at, and report the move of a cluster's clients."""
