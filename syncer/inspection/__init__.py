"""How a region is: its status, the verdict on it, and the conditions it can report."""
