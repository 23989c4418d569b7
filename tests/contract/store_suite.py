"""What every metadata store must do, as one suite that any back end imports.

A back end adds a class and a harness, nothing else::

    class TestMyStore(StoreSuite):
        @pytest.fixture
        def harness(self, ...) -> Iterator[StoreHarness]:
            ...

The suite asks ``capabilities`` where stores may differ, and checks the declared behaviour on both sides.
"""

from __future__ import annotations

from tests.contract.store_fencing import FencingSuite
from tests.contract.store_reading import ReadingSuite
from tests.contract.store_watching import WatchingSuite
from tests.contract.store_writing import WritingSuite


class StoreSuite(WritingSuite, ReadingSuite, FencingSuite, WatchingSuite):
    """The contract. Subclasses give the fixture ``harness``."""
