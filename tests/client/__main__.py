"""``python -m tests.client``: write ``syncer/client/calls`` anew from the committed description."""

from __future__ import annotations

from tests.client.generating import CALLS, committed_description, modules


def main() -> None:
    """Write the modules, and remove those of nouns that are gone."""
    made = modules(committed_description())
    for file in CALLS.glob("*.py"):
        if file.name not in made:
            file.unlink()
    for name, text in made.items():
        (CALLS / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
