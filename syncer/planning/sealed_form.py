"""Forms of sealed files: each names its format and version first, so that no other file is taken for one."""

from __future__ import annotations

import json
from dataclasses import dataclass

from syncer.errors import PlanInvalid


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedForm:
    """A kind of file.

    Attributes:
        what: Names it in messages: ``plan of a migration``.
        format: Stands in the file as ``format``.
        version: Stands there as ``version``.
        wrote: Tells an operator where such a file comes from.
        again: Tells an operator how it is made again.
    """

    what: str
    format: str
    version: int
    wrote: str
    again: str

    def check(self, text: bytes, name: str) -> None:
        """Go on only with a text of this form.

        Args:
            text: The file's.
            name: The file's, for messages.

        Raises:
            PlanInvalid: It is of none, of another one, or of another version.
        """
        try:
            raw = json.loads(text)
        except (ValueError, RecursionError) as exc:
            raise PlanInvalid(f"{name} is no {self.what}, or is cut off: it is no JSON", hint=self.wrote) from exc
        if not isinstance(raw, dict) or raw.get("format") != self.format:
            raise PlanInvalid(f"{name} is no {self.what}", hint=self.wrote)
        if raw.get("version") != self.version:
            raise PlanInvalid(
                f"{name} is a plan of version {raw.get('version')!r}; this program reads version {self.version}",
                hint=self.again,
            )
