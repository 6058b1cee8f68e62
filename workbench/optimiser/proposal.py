"""Define a proposal of the optimiser: one rewrite with its measured speed-up and difference."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from workbench.bench.measuring.stats import Interval
from workbench.graph.rewrites import Class
from workbench.optimiser.difference import Difference, WorstSample

LEAST_PSNR, MOST_PSNR = 35.0, 45.0
"""Range in dB of the minimum PSNR on the user's data for a ``near`` rewrite."""
Objective = Literal["speed", "memory"]


@dataclass(frozen=True, slots=True)
class Proposal:
    """One proposed rewrite, measured on top of the earlier proposals.

    Parameters
    ----------
    name, title:
        Name and title of the rewrite in ``graph.rewrites``.
    kind:
        ``exact``: all compared batches are bit-identical. ``near``: a PSNR of at least 35 dB.
    needs:
        Names of the proposals that this one requires.
    nodes:
        Ids of the nodes that the rewrite changes, moves or removes.
    gain:
        Speed-up over the graph with all earlier proposals applied, or None if it was not measured.
    difference:
        Difference between the original graph and the graph with all proposals up to this one.
    memory:
        Peak memory in bytes, host and GPU, with all proposals up to this one; None if unknown.
    rejected:
        Reason for the rejection; empty if the rewrite is proposed.
    """

    name: str
    title: str
    kind: Class
    needs: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    gain: Interval | None = None
    difference: Difference = field(default_factory=Difference)
    memory: int | None = None
    rejected: str = ""

    def to_json(self) -> dict[str, Any]:
        found = asdict(self)
        for worst in found["difference"]["worst"]:
            for picture in ("before", "after"):
                worst[picture] = base64.b64encode(worst[picture]).decode()
            worst["psnr"] = _finite(worst["psnr"])
        found["difference"]["psnr"] = _finite(found["difference"]["psnr"])
        return found


def proposal_from_json(record: Mapping[str, Any]) -> Proposal:
    """Load a proposal from a record. Raises KeyError, TypeError or ValueError if it is invalid."""
    gain, difference = record["gain"], dict(record["difference"])
    worst = tuple(
        WorstSample(
            **{
                **each,
                "psnr": _number(each["psnr"]),
                **{key: base64.b64decode(each[key]) for key in ("before", "after")},
            }
        )
        for each in difference.pop("worst")
    )
    made = Proposal(**{**record, "difference": Difference(), "gain": None})
    return replace(
        made,
        needs=tuple(made.needs),
        nodes=tuple(made.nodes),
        gain=Interval(**gain) if gain else None,
        difference=Difference(
            **{
                **difference,
                "psnr": _number(difference["psnr"]),
                "rounded": tuple(difference.get("rounded", ())),  # missing in older records
                "worst": worst,
            }
        ),
    )


def _finite(psnr: float) -> float | None:
    return psnr if math.isfinite(psnr) else None


def _number(psnr: float | None) -> float:
    return math.inf if psnr is None else psnr


def difference_text(difference: Difference) -> str:
    """Describe a difference in one line for a table."""
    if difference.other:
        return difference.other
    if difference.identical:
        return f"none in {difference.samples} samples"
    last_bits = f"; {', '.join(difference.rounded)}: the last bits" if difference.rounded else ""
    return (
        f"{difference.psnr:.1f} dB, {difference.equal:.1%} equal, {difference.mean:.3g} on "
        f"average, {difference.largest:.4g} at most{last_bits}"
    )


def speedup_text(gain: Interval | None) -> str:
    """Format a speed-up with its interval, or only the interval if not known within 3 %."""
    if gain is None:
        return "not measured"
    if gain.is_known:
        return f"{gain.median:.2f} times ({gain.low:.2f} to {gain.high:.2f})"
    return f"{gain.text()} times"


def ratio_text(ratio: float, objective: Objective) -> str:
    """Format a ratio, which is more than 1 if the speed or the memory is better."""
    return f"{ratio if objective == 'speed' else 1 / ratio:.2f} times the {objective}"


def memory_text(count: int) -> str:
    """Format a number of bytes."""
    return f"{count / 2**20:,.0f} MiB"
