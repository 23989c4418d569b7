"""The table of attacks: each entry of the product by each kind of harm, and the attack or the reason in every cell.

An entry is something that others can hand to a daemon or a command: a message type of the bus, a field of a heartbeat,
a manifest, a route of the HTTP surface, a file. :mod:`.entries` lists them from the code, :mod:`.rows` and
:mod:`.routes` declare a row for each, and each attack names the cells that it fills.
"""
