"""Write the table of the fields that brokers know: ``python -m tests.versions VERSION...``.

Versions that are named are asked anew; the others stay as the table has them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

from syncer.conflict.fields import table
from tests.versions.jars import ask

TABLE: Final = Path(table.__file__).with_name("known_fields.json")


def main(versions: list[str]) -> int:
    """Ask, and write what was answered.

    Args:
        versions: As Maven names them.
    """
    if not versions:
        print("usage: python -m tests.versions VERSION...", file=sys.stderr)
        return 2
    known = json.loads(TABLE.read_bytes()) if TABLE.exists() else {}
    known |= {version: ask(version) for version in versions}
    TABLE.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(f"{TABLE.name}: {', '.join(known)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
