"""``python -m tests.hostile``: a group of three honest regions, and somebody who says anything to it.

Every attack of :mod:`tests.hostile.attacks` is played against real daemons on real stores. Afterwards, or after the
command that an operator is told to give, four things must hold: no daemon has ended or begun anew, every honest write
is everywhere or kept whole in a conflict, what the bus has lost is healed by anti-entropy, and memory is within its
bound. A line per attack and attacker, then ``N passed, M failed``.
"""
