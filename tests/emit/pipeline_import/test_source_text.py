"""The user's own words about a call."""

from __future__ import annotations

import pytest

from tests.emit.pipeline_import.traces import FILE, op, place
from workbench.emit.pipeline_import.trace.source_lines import Lines
from workbench.emit.pipeline_import.trace.traced import TracedOp

SOURCE = """\
@pipeline_def
def pipe(data, base):
    jpegs, labels = fn.readers.file(
        **find_files(data), seed=base, name="reader"
    )
    images = fn.rotate(
        fn.decoders.image(jpegs),
        angle=fn.random.uniform(range=(-1, 1), seed=base + 3),
    )
    left, _ = fn.flip(images), fn.flip(images)
    self.kept = images * 2
    images = fn.flip(images, seed=7)
    if labels:
        pass
    return images.gpu(), labels
"""


def call(display: str, line: int, name: str, outputs: int = 1) -> TracedOp:
    text = SOURCE.splitlines()[line - 1].strip()
    return op("X", name, outputs=outputs, places=(place(line, text),), display=display)


READER = call("file", 3, "reader", 2)
DECODER = call("image", 7, "__Image_0")
UNIFORM = call("uniform", 8, "__Uniform_1")
ROTATE = call("rotate", 6, "__Rotate_2")
PAIR = [call("flip", 10, "__Flip_3"), call("flip", 10, "__Flip_4")]
TIMES = call("mul", 11, "__Mul_5")
FLIP = call("flip", 12, "__Flip_6")
OPS = [READER, DECODER, UNIFORM, ROTATE, *PAIR, TIMES, FLIP]
KNOWN = Lines({FILE: SOURCE}, OPS)
UNKNOWN = Lines({}, OPS)


def test_variables() -> None:
    assert KNOWN.targets(READER) == ("jpegs", "labels")
    assert KNOWN.targets(ROTATE) == ("images",)
    assert KNOWN.targets(TIMES) == ("kept",)
    for inner in (DECODER, UNIFORM, *PAIR):
        assert KNOWN.targets(inner) == ()


def test_variables_as_far_as_single_lines_tell() -> None:
    assert UNKNOWN.targets(READER) == ("jpegs", "labels")
    assert UNKNOWN.targets(ROTATE) == ("images",)
    assert UNKNOWN.targets(UNIFORM) == ("angle",)
    assert UNKNOWN.targets(DECODER) == ()


def test_sources() -> None:
    assert KNOWN.source(ROTATE).startswith("images = fn.rotate(\n")
    assert KNOWN.source(ROTATE).endswith(")")
    assert UNKNOWN.source(ROTATE) == "images = fn.rotate("
    unplaced = op("X", "__X_9")
    assert Lines({}, [unplaced]).source(unplaced) == ""
    branch = call("split", 13, "__Split_7")
    assert Lines({FILE: SOURCE}, [branch]).source(branch) == "if labels:"


def test_seeds_as_they_are_written() -> None:
    assert KNOWN.seed_term(READER) == 0
    assert KNOWN.seed_term(UNIFORM) == 3
    assert KNOWN.seed_term(FLIP) is None
    assert UNKNOWN.seed_term(READER) is None


def test_the_reader_of_our_own_scripts() -> None:
    assert KNOWN.found_by(READER) == ("find_files", "data")
    assert KNOWN.found_by(FLIP) is None


def test_what_is_returned() -> None:
    assert KNOWN.returned(OPS, 2) == ("images", "labels")
    assert KNOWN.returned(OPS, 3) == (None, None, None)
    assert UNKNOWN.returned(OPS, 2) == (None, None)


def test_the_innermost_line_outside_dali() -> None:
    deep = op(
        "X",
        "__X_0",
        places=(
            place(3),
            place(40, function="helper", file="/home/me/helper.py"),
            place(385, function="__add__", file="/lib/nvidia/dali/data_node.py"),
        ),
    )
    found = Lines({}, [deep]).place(deep)
    assert found is not None
    assert (found.file, found.line) == ("/home/me/helper.py", 40)


@pytest.mark.parametrize("text", ["def broken(:", "\0", "(" * 5000, ""])
def test_a_source_that_is_no_python(text: str) -> None:
    lines = Lines({FILE: text}, [ROTATE])
    assert lines.targets(ROTATE) == ("images",)
    assert lines.source(ROTATE) == "images = fn.rotate("
