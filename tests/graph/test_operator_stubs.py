from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import workbench as wb
from workbench.graph.operator_stubs import PATH, stub_text

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
    w.bench(devices=("cpu",))
    w.pipeline().run()
    return w.batch(0).to("torch")
"""


def test_the_stub_is_that_of_the_installed_dali() -> None:
    catalog = wb.load_catalog()
    written = PATH.read_text(encoding="utf-8")
    if f"DALI {catalog.dali_version};" not in written:
        pytest.skip(f"the stub was written from another DALI than {catalog.dali_version}")
    assert stub_text(catalog) == written, "write it anew: python -m workbench.graph.operator_stubs"


def test_every_operator_has_its_arguments_in_the_stub() -> None:
    text = PATH.read_text(encoding="utf-8")
    for name, spec in wb.load_catalog().items():
        if not spec.unusable:
            of_that_name = text.split(f"def {name.rpartition('.')[2]}(")[1:]
            heads = [each.partition(") -> ")[0] for each in of_that_name]
            assert any(all(f"{arg}: " in head for arg in spec.args) for head in heads), name


@pytest.mark.thorough
def test_mypy_knows_all_of_it(tmp_path: Path) -> None:
    path = tmp_path / "uses_all.py"
    path.write_text(USES_ALL)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    found = [line for line in done.stdout.splitlines() if line.startswith(str(path))]
    assert found == []


@pytest.mark.thorough
def test_mypy_finds_a_wrong_argument(tmp_path: Path) -> None:
    path = tmp_path / "wrong.py"
    path.write_text(
        'import workbench as wb\nwb.read("a").rotate(angl=3)\nwb.read("a").resize(size="x")\n'
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    assert 'Unexpected keyword argument "angl"' in done.stdout
    assert 'incompatible type "str"' in done.stdout
