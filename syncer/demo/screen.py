"""The demo's screen: one line per thing that happens, a table at the end. Plain text where there is no terminal."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from rich.console import Console
from rich.table import Table

WIDTH: Final = 110


class Screen:
    """The teller of the story."""

    def __init__(self) -> None:
        self.console = Console(width=None if Console().is_terminal else WIDTH, highlight=False)
        self._began = time.monotonic()

    @property
    def elapsed_s(self) -> float:
        """Seconds since the story began."""
        return time.monotonic() - self._began

    def act(self, number: int, title: str) -> None:
        """Begin an act."""
        self.console.print()
        self.console.print(f"[bold cyan]{number}. {title}[/]")

    def say(self, text: str) -> None:
        """Tell something that happens."""
        self.console.print(f"   [dim]{self.elapsed_s:5.1f} s[/]  {text}")

    def proof(self, text: str, *, holds: bool) -> None:
        """Tell something that was checked."""
        mark = "[bold green]✓[/]" if holds else "[bold red]✗[/]"
        self.console.print(f"   [dim]{self.elapsed_s:5.1f} s[/]  {mark} {text}")

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Show a table."""
        table = Table(title=title, title_justify="left", title_style="", box=None, pad_edge=False, padding=(0, 2))
        for column in columns:
            table.add_column(column, overflow="fold")
        for row in rows:
            table.add_row(*row)
        self.console.print(table)

    def verdict(self, text: str, *, holds: bool) -> None:
        """The last line."""
        style = "bold green" if holds else "bold red"
        self.console.print()
        self.console.print(f"[{style}]{text}[/]")
