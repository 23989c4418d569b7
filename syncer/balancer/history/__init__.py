"""History: a cluster's load over time, what is kept of it, and what it tells; pure.

sample     a cluster's load at one moment, and the picture that it was or can be
encoding   a sample as bytes, and back
changes    bundles that changed their owner between samples
returning  bundles that came back, and equal ranges that moved together
outcomes   our own moves, predicted beside observed
thinning   samples that stay within the bounds of a history
"""
