"""Operations: what an operator asks of the daemon, and how its answer is waited for, by command line and REST alike."""
