"""Every attack: the one list that the suite plays and that the threat model is made from."""

from __future__ import annotations

from typing import Final

from tests.hostile.attack import Attack
from tests.hostile.attacks.blocking import BLOCKING
from tests.hostile.attacks.bounds import BOUNDS
from tests.hostile.attacks.ending import ENDING
from tests.hostile.attacks.fields import BY_FIELDS
from tests.hostile.attacks.files import BY_FILES
from tests.hostile.attacks.hearsay import HEARSAY
from tests.hostile.attacks.people import PEOPLE
from tests.hostile.attacks.routes import BY_ROUTES

ATTACKS: Final[tuple[Attack, ...]] = (*ENDING, *HEARSAY, *BLOCKING, *BOUNDS, *BY_FIELDS, *PEOPLE, *BY_ROUTES, *BY_FILES)
