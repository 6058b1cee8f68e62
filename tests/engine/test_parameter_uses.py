"""What code does with a parameter is read from its text."""

from __future__ import annotations

import ast

import pytest

from workbench.engine.assumed_values.parameter_uses import ParameterUses, text_of, uses_of


def uses(body: str, name: str = "given") -> ParameterUses:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return uses_of(name, ast.parse(f"def pipe({name}):\n{lines}\n"))


@pytest.mark.parametrize(
    ("body", "items"),
    [
        ("a = given[0]", 2),
        ("a = given[2]", 3),
        ("a = given[-1]", 2),
        ("high, wide = given", 2),
        ("c, h, w = given", 3),
        ("side = max(given)", 2),
        ("f(*given)", 2),
        ("self.kept = given\nf(self.kept[1])", 2),
        ("a = given + 1", 0),
    ],
)
def test_how_many_are_taken_of_it(body: str, items: int) -> None:
    assert uses(body).items == items


@pytest.mark.parametrize(
    ("body", "is_settings"),
    [
        ("f(given.rank)", True),
        ("f(given['size'])", True),
        ("f(given.endswith('.rec'))", False),
        ("f(given[0])", False),
    ],
)
def test_whether_it_is_asked_for_values_by_name(body: str, is_settings: bool) -> None:
    assert uses(body).is_settings is is_settings


@pytest.mark.parametrize(
    "body", ["if given:\n    f()", "x = 1 if given else 2", "x = not given", "x = given and y"]
)
def test_whether_its_truth_is_asked(body: str) -> None:
    assert uses(body).is_truth
    assert not uses(body.replace("given", "other")).is_truth


@pytest.mark.parametrize(
    ("body", "texts"),
    [
        ("if given == 'train':\n    f()", ("train",)),
        ("if given in ('linear', 'cubic'):\n    f()", ("linear", "cubic")),
        ("x = {'linear': 1, 'cubic': 2}[given]", ("linear", "cubic")),
        ("table = {'a': 1}\nx = table[given]", ("a",)),
        ("if given == 3:\n    f()", ()),
    ],
)
def test_what_it_is_compared_with(body: str, texts: tuple[str, ...]) -> None:
    assert uses(body).texts == texts


def test_which_argument_of_an_operator_it_is() -> None:
    ((name, spec),) = uses("y = fn.resize(x, interp_type=given)").handed_to
    assert (name, spec and spec.default) == ("interp_type", "INTERP_LINEAR")
    ((_, spec),) = uses("self.read = ops.FileReader(random_shuffle=given)").handed_to
    assert spec is not None
    assert spec.kind == "bool"
    assert uses("f(random_shuffle=given)").handed_to == (("random_shuffle", None),)
    assert uses("y = fn.crop(x, crop=(given, given))").within == ("crop",)
    assert uses("y = fn.resize(x, size=given + 4)") == ParameterUses()


def test_the_text_of_a_function_and_of_a_class() -> None:
    source = (
        "def f(a):\n    return a\n\n\nclass Made:\n    def __init__(self, b):\n        self.b = b\n"
    )
    space: dict[str, object] = {}
    exec(compile(source, "made.py", "exec"), space)
    trees = {"made.py": ast.parse(source)}
    for name in ("f", "Made"):
        text = text_of(space[name], trees)  # type: ignore[arg-type]
        assert isinstance(text, ast.FunctionDef | ast.ClassDef)
        assert text.name == name
    assert text_of(space["f"], {}) is None  # type: ignore[arg-type]
    assert text_of(len, trees) is None
