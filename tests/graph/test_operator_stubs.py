from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import indent

import pytest

import workbench as wb
from workbench.graph.builder.operator_stubs import PATH, stub_text
from workbench.reference import START, examples, find, names

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
    said = [line for line in done.stdout.splitlines() if line.startswith(str(path))]
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
