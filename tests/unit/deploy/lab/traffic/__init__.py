"""Unit tests of :mod:`deploy.lab.traffic`."""
