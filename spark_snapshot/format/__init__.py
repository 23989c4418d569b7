"""The format of snapshots on disk: layout, manifest, selection, retention."""
