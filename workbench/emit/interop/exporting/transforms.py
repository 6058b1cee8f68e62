"""Collect the transforms of an export, and notes on how they differ from DALI."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any

from workbench.emit.interop.exporting.chains import Chain, Choice, RandomRange, Step
from workbench.emit.interop.exporting.source_text import Call, Expression, call_of
from workbench.emit.interop.library import Library


@dataclass
class Transforms:
    """Transforms written for one chain, with notes on differences from DALI."""

    library: Library
    made: list[Expression] = field(default_factory=list)
    notes: dict[str, None] = field(default_factory=dict)
    """Sentences about differences from DALI, as keys to avoid duplicates."""
    cases: dict[str, None] = field(default_factory=dict)
    """Rows of ``differences.toml`` that apply to these transforms, as keys to avoid duplicates."""
    constants: dict[str, str] = field(default_factory=dict)
    imports: set[str] = field(default_factory=set)
    options: dict[str, list[Expression]] = field(default_factory=dict)
    """Lists of transforms, by the name of the variable that contains them."""
    classes: dict[str, str] = field(default_factory=dict)
    """Code of transform classes that the library does not have, by class name."""
    steps: list[tuple[Step | Choice, int]] = field(default_factory=list)
    """Pairs of a step and the index of its transform in ``made``."""

    def add(self, function: str, *arguments: Any, **named: Any) -> None:
        """Append one transform, such as ``add("Resize", (224, 224))``."""
        self.made.append(call_of(f"{self.library.prefix}{function}", *arguments, **named))

    def add_sampled(
        self, step: Step, name: str, make: Callable[[float, float], Expression]
    ) -> None:
        """Append the transform ``make(low, high)`` for the range of the step's argument ``name``.

        For a list of values, append a random choice between transforms with fixed values.
        """
        found = step.value(name)
        if isinstance(found, RandomRange) and found.values:
            assert self.library.one_of is not None
            options = [[make(each, each)] for each in found.shares]
            self.made.append(self.library.one_of(options, [*found.shares.values()]))
        else:
            self.made.append(make(*step.span(name)))

    def measured(self, case: str) -> None:
        """Record that a row of the measured differences (``differences.toml``) applies."""
        self.cases[case] = None

    def note(self, text: str) -> None:
        self.notes[text] = None

    def write(self, chain: Chain) -> None:
        """Append the transforms of a chain. Raises GraphExportError if a step has no equivalent."""
        for step in chain:
            first = len(self.made)
            if isinstance(step, Choice):
                assert self.library.choice is not None
                self.made += self.library.choice(self, step)
            else:
                self.library.export_step(self, step)
            self.steps += [(step, at) for at in range(first, len(self.made))]

    def of(self, chain: Chain) -> Transforms:
        """Return the transforms of a further chain, which share the notes and definitions."""
        own = replace(self, made=[], steps=[])
        own.write(chain)
        return own


def with_p(call: Expression, p: float) -> Call | None:
    """Return a call whose probability is multiplied by ``p``, or None if it has no probability."""
    if not isinstance(call, Call):
        return None
    given = [each for each in call.arguments if isinstance(each, tuple) and each[0] == "p"]
    if not given:
        return None
    own = float(str(given[0][1]))
    rest = tuple(each for each in call.arguments if each not in given)
    return Call(call.function, (*rest, ("p", repr(round(own * p, 6)))))


@cache
def differences(library: str) -> dict[str, dict[str, Any]]:
    """Return a library's measured differences from DALI (see ``DIFFERENCES.md``), by case."""
    text = files(__package__).joinpath("differences.toml").read_text("utf-8")
    found: dict[str, dict[str, Any]] = tomllib.loads(text).get(library, {})
    return found


def difference_sentences(library: str, cases: Sequence[str], notes: Sequence[str]) -> list[str]:
    """Return sentences that describe how the transforms differ from DALI's operators."""
    known = differences(library)
    rows = {case: known[case] for case in cases if case in known}
    far = [
        f"{case} {row['mean']:.2f}, {row['largest']:.0f}"
        for case, row in rows.items()
        if row["largest"] >= 1
    ]
    equal = ", ".join(case for case, row in rows.items() if row["largest"] < 1)
    sentences = []
    if rows:
        head = (
            "Mean and largest difference from DALI's pixels (0 to 255), with all random values "
            "fixed"
        )
        sentences.append(f"{head}: {'; '.join([*far, *([f'none of {equal}'] if equal else [])])}.")
    return sentences + ([f"Other differences from DALI: {'; '.join(notes)}."] if notes else [])
