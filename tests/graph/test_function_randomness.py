"""What does not give the same for the same input is found in the source."""

from __future__ import annotations

import pytest

from workbench.graph.user_functions.function_randomness import undetermined

FOUND = {
    "    import numpy as np\n    return x + np.random.rand()": "numpy.random.rand",
    "    from numpy.random import default_rng\n    return default_rng().normal()": (
        "numpy.random.default_rng"
    ),
    "    import random\n    return x if random.random() < 0.5 else -x": "random.random",
    "    from random import choice as pick\n    return pick([x, x])": "random.choice",
    "    import torch\n    return torch.rand(3)": "torch.rand",
    "    import os\n    return os.urandom(3)": "os.urandom",
    "    import time\n    return x * time.time()": "time.time",
    "    import datetime\n    return datetime.datetime.now()": "datetime.datetime.now",
}
SAME = [
    "    import numpy as np\n    return np.random.default_rng(int(seed)).random(3)",
    "    import random\n    return random.Random(3).random()",
    "    import numpy as np\n    return np.clip(x, 0, 1)",
    "    random = x\n    return random.random()",
    "    return x * table[1]",
]


@pytest.mark.parametrize("body", FOUND)
def test_what_draws(body: str) -> None:
    found = undetermined(f"def f(x):\n{body}\n")
    assert found is not None
    assert (found.name, found.line) == (FOUND[body], 3)
    assert found.text == body.splitlines()[1].strip()
    assert f"line 3: {found.text}" in found.words
    assert "fed by random.uniform" in found.words


@pytest.mark.parametrize("body", SAME)
def test_what_gives_the_same(body: str) -> None:
    assert undetermined(f"def f(x, seed=1, table=[1, 2]):\n{body}\n") is None


def test_what_it_keeps_between_calls() -> None:
    found = undetermined("def f(x, *, seen=[], known={}):\n    seen.append(1)\n    return x\n")
    assert found is not None
    assert found.name == "its default seen, which it changes"
    found = undetermined("def f(x, known={}):\n    known[1] = x\n    return x\n")
    assert found is not None
    assert found.line == 2


def test_a_text_that_is_no_python() -> None:
    assert undetermined("def f(:") is None
