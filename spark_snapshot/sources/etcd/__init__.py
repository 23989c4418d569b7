"""Readers of etcd: live, and files of `etcdctl snapshot save`."""
