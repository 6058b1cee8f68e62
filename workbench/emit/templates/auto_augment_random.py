"""Generate code that samples the random values of automatic augmentation, starting at any batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from workbench.emit.core.python import INDENT

IMPORTS = """\
from typing import Any

import numpy as np
from nvidia.dali import fn, math, pipeline_def, types
from nvidia.dali.data_node import DataNode

"""

RANDOM_STATE = '''\
def random_state(seed: int, position: int) -> Any:
    """Philox(key=seed, sequence=position): the state of a random operator at that sample."""
    key = [seed & 0xFFFFFFFF, seed >> 32]
    words = [*key, 0, 0, position & 0xFFFFFFFF, position >> 32, 0]
    return types.Constant(np.array(words, np.uint32), device="cpu")


'''


class UniformCall(NamedTuple):
    """One call of ``fn.random.uniform`` inside an automatic augmentation."""

    arguments: str
    """Arguments as code, without the seed."""
    seed: int


UniformCalls = tuple[tuple[UniformCall, ...], ...]
"""Random calls of an automatic augmentation node, grouped by call of the node."""


def emit_random_values(calls: Sequence[UniformCall]) -> str:
    """Return the code of ``drawn(position)``, a pipeline that outputs one call's random values."""
    texts = "".join(f"{INDENT * 2}{uniform_call_text(each, True)},\n" for each in calls)
    head = f"{IMPORTS}\n{RANDOM_STATE}@pipeline_def\ndef drawn(position: int) -> Any:\n"
    return f"{head}{INDENT}return (\n{texts}{INDENT})\n"


def uniform_call_text(call: UniformCall, positioned: bool) -> str:
    """Return the code that samples one random value. ``positioned`` is as in ``emit_stage``."""
    state = f", _random_state=random_state({call.seed}, position)" if positioned else ""
    return f"fn.random.uniform({call.arguments}, seed={call.seed}{state})"
