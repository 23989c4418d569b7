"""Commands of snapshots, on Spark: take, compare, keep, bring back, and publish again what differs."""
