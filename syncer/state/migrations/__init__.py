"""Schema revisions of the sidecar database, run by :func:`syncer.state.opening.migrate`."""
