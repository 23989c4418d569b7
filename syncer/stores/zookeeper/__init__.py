"""The metadata store on ZooKeeper."""
