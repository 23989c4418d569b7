"""How a Java is started that a test has for itself, and for seconds only."""

from __future__ import annotations

from typing import Final

QUICK_JAVA: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""It compiles what it runs once and quickly: a third less work, where most of it is to start."""
