"""What mypy finds in code that uses the package: mistakes, and nothing in documented examples."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import indent

import pytest
from mypy import api

from workbench.reference import START, examples, find, names
from workbench.ui.notebook.part_stubs import PATH, stub_text

SETUP = """import workbench as wb
graph = wb.read("photos").decode()
w = wb.Workbench("photos", graph)
"""
MISTAKES = (
    'wb.raed("photos")',
    'wb.Workbnech("photos")',
    'wb.load_recipes("x")',
    "wb.load_recipe(3)",
    'wb.read("photos", random_shufle=True)',
    'wb.read("photos", random_shuffle="yes")',
    'wb.read("photos", lable="y")',
    "wb.read(3)",
    "w.nonexistent",
    "w.prewiew",
    "w.preview.batc",
    "w.batch_size = 3",
    "w.bench(secnds=3)",
    'w.batch("zero")',
    'w.preview.batch = "three"',
    "graph.with_settings(batchsize=3)",
    'graph.with_settings(batch_size="3")',
    'graph.with_settings(device="gpu")',
    "graph.rotat(angle=3)",
    "graph.rotate(angel=3)",
    'graph.rotate(angle="3")',
    "graph.rotate(angle=3).resise(size=(3, 3))",
    'graph.resize(size=(3, 3), interp_type="INTERP_LINER")',
    "graph.resize(scale=3, sizes=4)",
    'graph.with_p("0.5", lambda x: x.rotate(angle=3))',
    "graph.with_p(0.5, lambda x: x.rotat(angle=3))",
    "graph.one_of(lambda x: x.flip(), lambda x: x.rotate(angel=3))",
    "graph.with_p(0.5, graph.rotate(angle=3))",
    'graph.some_of("2", lambda x: x.flip())',
    "graph.noise.gausian(stddev=3)",
    "wb.random.unifrom(range=(0, 1))",
    "wb.random.uniform(rnage=(0, 1))",
    "wb.fn.catt(graph.images, graph.images)",
    "wb.outputs(images=3)",
    'graph["rotate"].remov()',
    "graph[3]",
    'wb.export(graph, targt="pytorch")',
    'wb.export(graph, "pytorhc")',
    'wb.Workbench("photos", graph, layuot="side")',
    'wb.Workbench("photos", graph, layout="sid")',
    'wb.preview_batch(wb.Engine(), wb.PreviewRequest(graph, "photos", tile=3))',
    'wb.check_folder("photos", ful=True)',
    'wb.Benchmark(graph, "photos", "cqu")',
    'wb.loader(graph, "photos", "torhc")',
    'graph.decode(output_typ="GRAY")',
    "graph.repeat(3, lambda x: x.blur(sigma=1))",
    "graph.named(3)",
    'w.set("rotate.angle")',
    'w.export(target="pytorch", trainin=True)',
    'wb.check_graph("x")',
)
UNSEEN = 5
"""Mistakes that mypy cannot find: names that are data, such as export targets."""


_OPTIONS = ("--disable-error-code=used-before-def",)  # an example may replace ``graph``


def lines_with_errors(source: str, path: Path) -> dict[int, str]:
    """The errors that mypy finds in a program, by line."""
    path.write_text(source)
    cache = str(Path(__file__).parents[1] / ".mypy_cache" / "users")
    found, _, _ = api.run(["--config-file=", f"--cache-dir={cache}", *_OPTIONS, str(path)])
    return {int(n): text for n, text in re.findall(r":(\d+): error: (.*)", found)}


@pytest.mark.thorough
def test_mistakes_are_found(tmp_path: Path) -> None:
    found = lines_with_errors(SETUP + "\n".join(MISTAKES), tmp_path / "mistakes.py")
    first = SETUP.count("\n") + 1
    assert min(found) >= first, found
    unseen = [line for number, line in enumerate(MISTAKES, first) if number not in found]
    assert len(MISTAKES) >= 40
    assert len(unseen) <= UNSEEN, unseen


def _is_error(name: str) -> bool:
    value = find(name)
    return isinstance(value, type) and issubclass(value, Exception)


@pytest.mark.thorough
def test_the_examples_of_the_reference_are_typed(tmp_path: Path) -> None:
    parts = [START]
    for number, name in enumerate(each for each in names() if not _is_error(each)):
        body = indent("\n".join(examples(name)), "    ")
        parts.append(f"def example_{number}() -> None:\n{body}\n" if body else "")
    source = "\n".join(parts)
    found = lines_with_errors(source, tmp_path / "examples.py")
    untyped = {n: text for n, text in found.items() if "import" not in text}
    assert not {source.splitlines()[n - 1]: text for n, text in untyped.items()}


def test_the_stub_of_the_parts_is_up_to_date() -> None:
    assert PATH.read_text(encoding="utf-8") == stub_text(), (
        "update it: python -m workbench.ui.notebook.part_stubs"
    )
