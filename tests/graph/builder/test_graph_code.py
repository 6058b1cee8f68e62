"""A graph written as method calls, and the stubs of these methods."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from textwrap import indent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.helpers import with_node, with_nodes
from tests.thorough import one_in
from workbench.graph.builder.graph_code import UnknownSyntaxError, code_of, ordered, read_calls
from workbench.graph.builder.method_calls import NotWritableError
from workbench.graph.builder.operator_stubs import PATH, stub_text
from workbench.graph.model import Graph
from workbench.reference import START, examples, find, names
from workbench.sources import open_dataset

Step = Callable[[Graph], Graph]


def written(graph: Graph) -> str:
    data = {each.dataset: replace(open_dataset("."), kind=each.kind) for each in graph.sources}
    return code_of(graph, data, dict.fromkeys(data, '"photos"'))


def comes_back(graph: Graph) -> bool:
    """Whether the calls give the graph, run as a cell runs them."""
    names = {"wb": wb}
    exec(written(graph).replace('wb.read("photos"', 'wb.read("."'), names)
    made: Graph = names["graph"]  # type: ignore[assignment]
    return ordered(made) == ordered(graph)


def a_graph() -> Graph:
    return wb.read(".").decode().resize(size=(64, 64))


def turned(x: Graph) -> Graph:
    return x.rotate(angle=wb.random.uniform(range=(-3, 3)), keep_size=True)


def darker(x: Graph) -> wb.DataNode:
    return (x.images * 0.5 + 3).cast(dtype="UINT8")


def by_coin(g: Graph) -> Graph:
    coin = wb.random.coin_flip(probability=0.3)
    return g.flip(horizontal=coin).gaussian_blur(sigma=1.5).flip(vertical=coin)


def mixed(g: Graph) -> Graph:
    both = g.images * 0.7 + (1 - g.images.flip()) * 0.3
    return wb.outputs(images=both.cast(dtype="UINT8"), labels=g.labels)


def crossed(g: Graph) -> Graph:
    """What is used twice inside a block."""

    def sharpened(x: Graph) -> wb.DataNode:
        blurred = x.gaussian_blur(sigma=2.0)
        return (x.images + (x.images - blurred.images) * 0.5).cast(dtype="UINT8")

    return g.with_p(0.5, sharpened)


STEPS: dict[str, Step] = {
    "fixed": lambda g: g.rotate(angle=30, keep_size=True, fill_value=0),
    "drawn": turned,
    "shared draw": by_coin,
    "own seed": lambda g: g.flip(horizontal=wb.random.coin_flip(seed=77)),
    "named": lambda g: g.flip(horizontal=1, name=f"mirror_{len(g.nodes)}"),
    "p": lambda g: g.with_p(0.25, turned),
    "p darker": lambda g: g.with_p(0.5, darker),
    "label": lambda g: g.if_else(g.labels[0] == 3, turned, lambda x: x.flip(horizontal=1)),
    "one of": lambda g: g.one_of(turned, lambda x: x, darker, weights=(2, 1, 1)),
    "even": lambda g: g.one_of(turned, lambda x: x.with_p(0.1, darker)),
    "some of": lambda g: g.some_of(2, turned, darker, lambda x: x.flip(), shuffled=True),
    "repeat": lambda g: g.repeat(3, turned),
    "drawn times": lambda g: g.repeat(
        wb.random.uniform(range=(0, 3), dtype="INT32"), turned, most=3
    ),
    "mix": mixed,
    "crossed": crossed,
    "random": lambda g: g.random_resized_crop(size=(48, 48)),
}
ENDS: dict[str, Step] = {
    "as it is": lambda g: g,
    "images alone": lambda g: wb.outputs(images=g.images),
    "two views": lambda g: wb.outputs(
        view_1=g.images.random_resized_crop(size=(32, 32)),
        view_2=g.images.random_resized_crop(size=(32, 32)).flip(horizontal=1),
        labels=g.labels,
    ),
    "settings": lambda g: g.named("mine", 'for "leaves"').with_settings(batch_size=8, seed=3),
    "renamed": lambda g: g["resize"].rename("small"),
    "muted": lambda g: g["resize"].mute(),
}


@settings(max_examples=25)
@given(st.lists(st.sampled_from(sorted(STEPS)), max_size=4), st.sampled_from(sorted(ENDS)))
def test_the_calls_give_the_same_graph(steps: list[str], end: str) -> None:
    graph = a_graph()
    for step in steps:
        graph = STEPS[step](graph)
    graph = ENDS[end](graph)
    assert comes_back(graph)


@pytest.mark.parametrize("step", STEPS)
def test_each_step_comes_back(step: str) -> None:
    graph = STEPS[step](a_graph())
    assert comes_back(graph)


def test_it_reads_as_a_person_writes() -> None:
    graph = turned(wb.read(".").decode()).with_p(0.8, lambda x: x.gaussian_blur(sigma=2))
    assert written(graph) == (
        "graph = (\n"
        '    wb.read("photos")\n'
        "    .decode()\n"
        "    .rotate(keep_size=True, angle=wb.random.uniform(range=(-3, 3)))\n"
        "    .with_p(0.8, lambda x: x.gaussian_blur(sigma=2))\n"
        ")\n"
    )
    assert "graph.images * 0.7" in written(mixed(a_graph()))
    assert "weights=(2, 1, 1)" in written(STEPS["one of"](a_graph()))


ANNOTATED = {"key-points", "retinanet", "segmentation", "ssd", "mosaic", "copy-paste"}
WRITTEN = {*wb.load_recipes()} - ANNOTATED - {"video-clips"}


@pytest.mark.parametrize("name", one_in(4, wb.load_recipes()))
def test_every_recipe_is_written_or_says_why_not(name: str) -> None:
    graph = wb.load_recipe(name)
    try:
        assert "wb.read(" in written(graph)
    except NotWritableError as error:
        print(error)
        assert name not in WRITTEN


@pytest.mark.parametrize(
    ("graph", "why"),
    [
        (Graph(nodes=(wb.Node("a", "rotat"),)), "a fault: the graph has no outputs"),
        (Graph(), "a fault: the graph has no outputs"),
        (
            with_nodes(a_graph(), wb.Node("b", "flip")),
            "a fault: b.data: it is not connected",
        ),
    ],
)
def test_what_no_calls_give_says_why(graph: Graph, why: str) -> None:
    with pytest.raises(NotWritableError, match=why):
        code_of(graph, {"data": open_dataset(".")}, {"data": '"photos"'})


@pytest.mark.parametrize(
    "node",
    [
        wb.Node("x; print()", "flip"),
        wb.Node("a", "flip", {"horizontal=print()": 1}),
        wb.Node("a", "subscript", {"index": "print()"}, {"data": wb.Port("resize", "output")}),
    ],
)
def test_what_a_file_says_is_no_code(node: wb.Node, tmp_path: Path) -> None:
    graph = a_graph()
    outputs = {"images": wb.Port(node.id, "output")}
    with pytest.raises(NotWritableError):
        written(replace(graph, nodes=(*graph.nodes, node), outputs=outputs))


PRINTS = "a=print('run')) or dict(b"


@pytest.mark.parametrize(
    "change",
    [
        lambda g, branch: replace(g, outputs={PRINTS: g.outputs["images"]}),
        lambda g, branch: with_node(g, "rotate", seed=PRINTS),
        lambda g, branch: g.replace_node(
            replace(branch, inputs={**branch.inputs, PRINTS: g.outputs["images"]})
        ),
        lambda g, branch: g.replace_node(
            replace(branch, bodies={PRINTS: branch.bodies["then"], **branch.bodies})
        ),
        lambda g, branch: g.replace_node(
            replace(
                branch,
                bodies={
                    name: replace(body, outputs={PRINTS: body.outputs["images"]})
                    for name, body in branch.bodies.items()
                },
            )
        ),
    ],
)
def test_no_name_and_no_seed_is_code(
    change: Callable[[Graph, wb.Node], Graph], capsys: pytest.CaptureFixture[str]
) -> None:
    graph = a_graph().rotate(angle=3).with_p(0.5, turned)
    (branch,) = (node for node in graph.nodes if node.bodies)
    with pytest.raises(NotWritableError):
        written(change(graph, branch))
    assert "run" not in capsys.readouterr().out


CALLS = ("PWN()", "1) or PWN() or (1", '1"); PWN(); ("', "1\nPWN()", "__import__('os')")


@pytest.mark.parametrize("muted", [False, True])
@pytest.mark.parametrize("hostile", CALLS)
@pytest.mark.parametrize(
    ("op", "argument"), [("some_of", "count"), ("repeat", "most"), ("repeat", "times")]
)
def test_no_block_argument_is_code(
    op: str, argument: str, hostile: str, muted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builtins.exec", lambda *_: pytest.fail("code is executed"))
    monkeypatch.setattr("builtins.eval", lambda *_: pytest.fail("code is evaluated"))
    graph = STEPS["some of" if op == "some_of" else "drawn times"](a_graph())
    (block,) = (node for node in graph.nodes if node.op == op)
    args = {**block.args, argument: hostile}
    with pytest.raises(NotWritableError, match=f"fault: {block.id}.{argument}"):
        written(graph.replace_node(replace(block, args=args, muted=muted)))


@pytest.mark.parametrize("muted", [False, True])
def test_a_cycle_is_no_endless_loop(muted: bool) -> None:
    graph = a_graph().flip(name="first").flip(name="second")
    looped = replace(graph.node("first"), inputs={"data": wb.Port("second", "output")}, muted=muted)
    with pytest.raises(NotWritableError, match="these nodes wait for each other"):
        written(graph.replace_node(looped))


@pytest.mark.parametrize(
    "text",
    [
        *("import os", "graph = open('x')", "graph = wb.__class__", "graph = 9 ** 9 ** 9"),
        *("graph = float.__subclasses__()", "graph = [x for x in ()]", "graph = wb.read(*())"),
        *("graph = wb.read('.').whole", "graph = wb.fn._group", "graph = 1", "while True: pass"),
        *("def f(x=wb): return x", "graph = (lambda *x: x)(1)", "graph: int = 1"),
        *("graph = wb.read(**{})", "graph = f'{wb}'", "graph = wb.read.__globals__"),
    ],
)
def test_nothing_but_method_calls_is_read(text: str) -> None:
    with pytest.raises(UnknownSyntaxError):
        read_calls(text, lambda *_, **__: a_graph())


USES_ALL = """
import workbench as wb
from workbench import DataNode, Graph, OutputBatch

def composed() -> Graph:
    graph: Graph = wb.read("photos", random_shuffle=True).decode().resize(size=(224, 224))
    graph = graph.rotate(angle=wb.random.uniform(range=(-10, 10)), fill_value=0)
    graph = graph.with_p(0.8, lambda x: x.color_twist(saturation=1.5))
    graph = graph.one_of(lambda x: x.gaussian_blur(sigma=2.0), lambda x: x.flip(), weights=(2, 1))
    graph = graph.some_of(1, lambda x: x.flip(), lambda x: x.flip(), shuffled=True)
    graph = graph.repeat(2, lambda x: x.rotate(angle=1)).noise.gaussian(stddev=3.0)
    graph = graph.if_else(graph.labels[0] == 3, lambda x: x.flip())
    images: DataNode = graph.images * 0.7 + graph.images.flip() * 0.3
    stacked: DataNode = wb.fn.cat(images, images, axis=2)
    graph = graph["rotate"].set(angle=5).named("all").with_settings(batch_size=8)
    return wb.outputs(images=images, stacked=stacked, labels=graph.labels)

def used() -> OutputBatch:
    w = wb.Workbench("photos", composed())
    w["rotate"].angle = 5
    w.param("rotate.angle").value = 6
    if w.undo() and w.redo():
        print(w.to_code("pytorch"))
    for batch in w.loader("torch", epochs=1):
        print(batch)
    report = w.bench(devices=("cpu",))
    report.plot()
    report.to_frame()
    wb.compare(composed(), "simclr", data="photos").to_frame()
    w.preview.observe(print, "selected")
    print(w.preview.selected.files, w.code.source)
    w.observe(print, "graph")
    w.panel("preview")
    w.to_cell()
    w.pipeline().run()
    return w.batch(0).to("torch")
"""


GIVEN = "graph: wb.Graph, w: wb.Workbench"
"""What examples of the reference use, and may give another value."""


def test_the_stub_is_that_of_the_installed_dali() -> None:
    catalog = wb.load_catalog()
    written = PATH.read_text(encoding="utf-8")
    if f"DALI {catalog.dali_version};" not in written:
        pytest.skip(f"the stub was written from another DALI than {catalog.dali_version}")
    assert stub_text(catalog) == written, (
        "update it: python -m workbench.graph.builder.operator_stubs"
    )


def test_every_operator_has_its_arguments_in_the_stub() -> None:
    text = PATH.read_text(encoding="utf-8")
    for name, spec in wb.load_catalog().items():
        if not spec.unusable:
            of_that_name = text.split(f"def {name.rpartition('.')[2]}(")[1:]
            heads = [each.partition(") -> ")[0] for each in of_that_name]
            assert any(all(f"{arg}: " in head for arg in spec.args) for head in heads), name


def strict(path: Path, *options: str) -> list[str]:
    """What ``mypy --strict`` says of a file, without what it says of packages."""
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "", *options, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    assert done.returncode in (0, 1), done.stderr
    said = [line for line in done.stdout.splitlines() if f"{path.name}:" in line]
    return [line for line in said if ": error:" in line]


@pytest.mark.thorough
def test_mypy_knows_all_of_it(tmp_path: Path) -> None:
    path = tmp_path / "uses_all.py"
    path.write_text(USES_ALL)
    assert strict(path) == []


@pytest.mark.thorough
def test_mypy_knows_the_examples_of_the_reference(tmp_path: Path) -> None:
    made = [START]
    for name in names():
        if isinstance(find(name), type) and issubclass(find(name), Exception):
            continue  # many raise it by what mypy finds
        for source in examples(name):
            made.append(f"def example_{len(made)}({GIVEN}) -> None:\n{indent(source, '    ')}")
    path = tmp_path / "examples.py"
    path.write_text("\n".join(made))
    # Functions of a person's own need no types there, and data are from libraries without.
    found = strict(
        path, "--allow-untyped-defs", "--allow-untyped-calls", "--ignore-missing-imports"
    )
    assert found == []


@pytest.mark.thorough
def test_mypy_finds_a_wrong_argument(tmp_path: Path) -> None:
    path = tmp_path / "wrong.py"
    path.write_text(
        'import workbench as wb\nwb.read("a").rotate(angl=3)\nwb.read("a").resize(size="x")\n'
    )
    first, second = strict(path)
    assert 'Unexpected keyword argument "angl"' in first
    assert 'incompatible type "str"' in second
