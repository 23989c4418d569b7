"""Routes of the REST API, one module for each noun: a function ``router`` makes them over what they look into.

A module is named by the last fixed part of its paths, and listed in :mod:`api.app`. What a daemon is asked to do goes
through :mod:`syncer.operations`, what is shown through :mod:`syncer.documents`: the command line has the same of both.
"""
