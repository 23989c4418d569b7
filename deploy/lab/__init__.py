"""Real servers on the loopback interface, for tests and demonstrations: ZooKeeper, etcd and Pulsar clusters."""
