"""One sample's way through the graph -> what the steps panel shows."""

from __future__ import annotations

from workbench.preview import Steps
from workbench.preview.steps import Step, StepOutput
from workbench.ui.binary_payload import pack_payload
from workbench.ui.preview_views import StepEntry, StepOutputEntry, StepsHeader


def steps_bytes(steps: Steps) -> bytes:
    """A ``StepsHeader`` and the sheet with the pictures of all steps."""
    header: StepsHeader = {
        "mime": steps.mime,
        "sheet": list(steps.size),
        "steps": [_step(step, bool(steps.timing)) for step in steps.steps],
        "index": steps.index,
        "samples": steps.samples,
        "batch": steps.batch,
        "file": steps.sample.file,
        "error": steps.sample.error,
        "warning": steps.sample.warning,
        "timing": steps.timing,
        "floor": steps.floor,
    }
    return pack_payload(header, steps.image)


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
    return {
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


def _values(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return ""
    return f"{low:.4g}" if low == high else f"{low:.4g} … {high:.4g}"
