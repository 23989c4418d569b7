"""Jobs: snapshots taken and compared by processes of their own, one at a time, in the order in which they are asked."""
