"""``python -m syncer.demo``: play the story; the exit status says whether it held."""

from __future__ import annotations

import sys

from syncer.demo import run

if __name__ == "__main__":
    sys.exit(run())
