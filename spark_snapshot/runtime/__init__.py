"""The Spark runtime: sessions, phases, progress, and errors in the words of the product."""
