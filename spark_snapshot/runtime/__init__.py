"""Running on Spark: sessions, phases, progress, and errors in the words of the product."""
