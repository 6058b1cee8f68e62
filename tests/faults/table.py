"""A row for each fault that happened to a kind of work in a host, and the table of them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from workbench.engine import describe_machine


@dataclass
class Row:
    host: str
    work: str
    fault: str
    alive: bool = False
    kept: bool = False
    message: str = ""
    happened: float = 0.0
    """When the fault did, as of ``time.monotonic``; a limit of files is there from the start."""
    told: float | None = None
    again: float | None = None
    """Seconds until a message came, and until the same work gave a result again."""

    def happens(self) -> None:
        self.happened = time.monotonic()

    def is_told(self) -> None:
        if self.told is None:
            self.told = time.monotonic() - self.happened

    def __str__(self) -> str:
        yes = {True: "yes", False: "NO"}
        told, again = ("-" if s is None else f"{s:.1f}" for s in (self.told, self.again))
        return (
            f"{self.host:11} {self.work:8} {self.fault:13} {yes[self.alive]:6} "
            f"{yes[self.kept]:6} {told:>8} {again:>9}  {self.message}"
        )


class Table:
    """The rows seen so far, in a file that a person can read: under $OUT, else in ``build``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: list[Row] = []
        path.parent.mkdir(parents=True, exist_ok=True)

    def write(self) -> None:
        self.path.write_text(f"{self}\n", encoding="utf-8")

    def __str__(self) -> str:
        machine = describe_machine()
        sound = sum(row.alive and row.kept and bool(row.message) for row in self.rows)
        return "\n".join(
            [
                f"{machine.cpu}, {machine.cores} cores; {machine.gpu or machine.no_gpu}",
                f"{sound} of {len(self.rows)} faults: alive, kept and told",
                f"{'host':11} {'work':8} {'fault':13} alive  kept   told (s) again (s)  message",
                *map(str, self.rows),
            ]
        )
