"""Schema revisions of the sidecar database, run by :func:`syncer.state.sql.opening.migrate`."""
