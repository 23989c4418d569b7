"""Readers of ZooKeeper: live, and its snapshot and transaction log files."""
