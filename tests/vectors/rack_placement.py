"""Play ``bk-rack-placement.json``: ensembles that adhere to racks, as BookKeeper counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from syncer.ledgers.placement.adherence import RackPolicy, adheres_as_counted
from syncer.ledgers.placement.racks import RackMap
from tests.vectors.comparing import same

Row = Mapping[str, Any]


def differences(case: Row, meta: Row) -> Iterator[str]:
    """Yield what differs in a case."""
    racks: Mapping[str, str] = case["racks"]
    writable = racks.keys() - {*case["unregistered"], *case["readOnly"]}
    policy = RackPolicy(case["minNumRacksPerWriteQuorum"], enforced=case["enforceMinNumRacksPerWriteQuorum"])
    adheres = adheres_as_counted(case["ensemble"], case["writeQuorumSize"], RackMap(racks), writable, policy)
    yield from same("adherence", case["expect"], {"adherence": "MEETS_STRICT" if adheres else "FAIL"})
