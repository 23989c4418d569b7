"""Unit tests of :mod:`deploy.lab.releases`."""
