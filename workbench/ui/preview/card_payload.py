"""One sample at the nodes -> what the cards of the canvas show, and what opens from one."""

from __future__ import annotations

from workbench.preview import CardPictures, Steps
from workbench.preview.facts.statistics import Histogram
from workbench.preview.views.steps import Step, StepOutput
from workbench.ui.contract.binary_payload import pack_payload
from workbench.ui.contract.preview_views import (
    CardsHeader,
    DetailHeader,
    HistogramEntry,
    StepEntry,
    StepOutputEntry,
)
from workbench.ui.preview.statistics_views import channel_entries


def cards_bytes(pictures: CardPictures) -> bytes:
    """A ``CardsHeader`` and the sheet with the pictures of all cards."""
    header: CardsHeader = {
        "mime": pictures.mime,
        "sheet": list(pictures.size),
        "cards": [
            {
                "id": card.node,
                "box": list(card.box or ()),
                "text": card.text,
                "draws": list(card.draws),
                "branches": list(card.branches),
            }
            for card in pictures.cards
        ],
        "index": pictures.index,
        "samples": pictures.samples,
        "file": pictures.sample.file,
        "error": pictures.sample.error,
        "warning": pictures.sample.warning,
    }
    return pack_payload(header, pictures.image)


def detail_bytes(steps: Steps) -> bytes:
    """A ``DetailHeader`` of the only step, and the pictures of its outputs."""
    header: DetailHeader = {
        "mime": steps.mime,
        "sheet": list(steps.size),
        "steps": [_step(step, bool(steps.timing)) for step in steps.steps],
        "node": steps.steps[0].node,
        "file": steps.sample.file,
        "error": steps.sample.error,
        "samples": steps.samples,
        "timing": steps.timing,
        "floor": steps.floor,
    }
    return pack_payload(header, steps.image)


def no_detail_bytes(node: str, reason: str) -> bytes:
    """A ``DetailHeader`` that says why there is nothing to show."""
    header: DetailHeader = {
        "mime": "image/jpeg",
        "sheet": [0, 0],
        "steps": [],
        "node": node,
        "file": "",
        "error": reason,
        "samples": 0,
        "timing": "",
        "floor": None,
    }
    return pack_payload(header, b"")


def _step(step: Step, timed: bool) -> StepEntry:
    return {
        "node": step.node,
        "op": step.op,
        "device": step.device,
        "outputs": [_output(output) for output in step.outputs],
        "draws": list(step.draws),
        "drawn": step.drawn,
        "milliseconds": step.time.milliseconds if step.time else None,
        "untimed": step.time.reason if timed and step.time else "",
    }


def _output(output: StepOutput) -> StepOutputEntry:
    entry: StepOutputEntry = {
        "name": output.name,
        "kind": output.kind,
        "shape": "×".join(map(str, output.shape)) or "one number",
        "dtype": output.dtype,
        "layout": output.layout,
        "device": output.device,
        "values": _values(output.low, output.high),
        "box": list(output.box or ()),
        "note": output.note,
        "text": output.text,
    }
    if output.histogram is not None:
        entry["histogram"] = _histogram(output.histogram)
    return entry


def _histogram(found: Histogram) -> HistogramEntry:
    return {"low": found.low, "high": found.high, "channels": channel_entries(found.channels)}


def _values(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return ""
    return f"{low:.4g}" if low == high else f"{low:.4g} … {high:.4g}"
