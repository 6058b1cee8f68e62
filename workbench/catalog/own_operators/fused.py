"""Which operators do by themselves what an ``if`` around them does: the rows of ``fused.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class FusedForm:
    """A row of ``fused.toml``, which says what the fields are."""

    neutral: Mapping[str, int | float]
    requires: Mapping[str, bool] = field(default_factory=dict)
    types: tuple[str, ...] = ()


def _read() -> dict[str, FusedForm]:
    rows = tomllib.loads(files(__package__).joinpath("fused.toml").read_text("utf-8"))
    return {
        op: FusedForm(row["neutral"], row.get("requires", {}), tuple(row.get("types", ())))
        for op, row in rows.items()
    }


FUSED_FORMS: Mapping[str, FusedForm] = _read()
