"""Whatever a function looks like, its text with the imports inside is the same function."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from workbench.graph.user_functions.function_text import written_function

IMPORTS = ["import math"]

CASES = {
    "def f(x): return math.sqrt(x)\n": "def f(x): import math; return math.sqrt(x)\n",
    "def f(x):\n    return x\n": "def f(x):\n    import math\n\n    return x\n",
    """\
@node(layouts='HWC')
def f(x: int, by: float = 2.0) -> int:  # why

    # more
    return x
""": """\
def f(x: int, by: float = 2.0) -> int:  # why
    import math

    # more
    return x
""",
    """\
def f(x: "np.ndarray", /, by: int = 3, *rest: Any, k: Any = 4, **more: Any) -> Any:
    return x
""": """\
def f(x, /, by=3, *rest, k=4, **more):
    import math

    return x
""",
    """\
def f(
    x: np.ndarray[
        int, Any
    ],
    *,
    k: Any = {1: 2},
) -> Any:
    return x
""": """\
def f(x, *, k={1: 2}):
    import math

    return x
""",
    """\
def f(x, d={"é": 1}):
    '''Two
    lines.'''
    @g
    def h(): pass
    return x
""": """\
def f(x, d={"é": 1}):
    '''Two
    lines.'''
    import math

    @g
    def h(): pass
    return x
""",
    """\
def f(x):
    @g
    def h(): pass
    return x
""": """\
def f(x):
    import math

    @g
    def h(): pass
    return x
""",
}


@pytest.mark.parametrize("text", CASES)
def test_its_text(text: str) -> None:
    definition: Any = ast.parse(text).body[0]
    written = written_function(text, definition, IMPORTS)
    assert written == CASES[text]
    compile(written, "f", "exec")


@pytest.mark.parametrize("text", CASES)
def test_without_imports_only_the_head_can_change(text: str) -> None:
    definition: Any = ast.parse(text).body[0]
    again: Any = ast.parse(written_function(text, definition, [])).body[0]
    assert [ast.dump(each) for each in again.body] == [ast.dump(each) for each in definition.body]
    assert [each.arg for each in again.args.args] == [each.arg for each in definition.args.args]
