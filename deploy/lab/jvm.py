"""Flags of a Java process: small, and either quick to start or fast when warm."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Jvm:
    """How much memory a Java server may use, and which compilers.

    ``quick_start`` leaves out the optimising compiler: a server is up a third sooner and serves slower. Measurements
    need it off.
    """

    heap_mb: int
    direct_mb: int | None = None
    quick_start: bool = True

    def flags(self) -> tuple[str, ...]:
        """The command line flags."""
        direct = () if self.direct_mb is None else (f"-XX:MaxDirectMemorySize={self.direct_mb}m",)
        quick = ("-XX:TieredStopAtLevel=1",) if self.quick_start else ()
        return ("-Xms32m", f"-Xmx{self.heap_mb}m", *direct, "-XX:+UseSerialGC", "-Xshare:auto", *quick)
