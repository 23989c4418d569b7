"""Unit tests of :mod:`deploy.lab.brokers`."""
