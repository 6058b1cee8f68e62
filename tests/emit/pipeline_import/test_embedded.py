"""An exported program contains its graph, which is imported as long as the code is unchanged."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.block_graphs import BLOCK_GRAPHS
from tests.emit.pipeline_import.graphs import GROWN
from tests.engine.test_some_of import (
    in_order,
    repeated,
    repeated_as_drawn,
    repeated_in_a_repeat,
    shuffled,
)
from tests.graph.annotations.geometry_chains import block_chain, whole_chain
from tests.graph.annotations.ramps import write_ramps
from tests.helpers import CATALOG
from tests.thorough import examples, one_in
from workbench.emit.core.bad_files import HINT
from workbench.emit.embedded_graph import code_hash, embed_graph, embedded_graph
from workbench.emit.pipeline_import.embedded import import_embedded
from workbench.emit.targets import export, load_target, target_names
from workbench.engine import importing
from workbench.errors import GraphExportError, GraphFormatError, ImportFailedError
from workbench.graph import Graph, Port, load_recipe, load_recipes
from workbench.graph.control_flow.options import set_body_title
from workbench.graph.control_flow.wrapping import wrap_as_options
from workbench.graph.edits.edit import set_arg
from workbench.graph.user_functions.trust import is_trusted
from workbench.sources import open_dataset

NOT_USED = "the graph stored in pipe.py was not used"
CHANGED = "The code was changed after the export."
CUTOUT = load_recipe("cutout")


def program(graph: Graph = CUTOUT, target: str = "script") -> str:
    return export(graph, target, CATALOG).main.text


def titled() -> Graph:
    """A block with names for its bodies, which a program has as comments."""
    plain = load_recipe("rotate-jitter")
    graph, block = wrap_as_options(plain, CATALOG, ["rotate", "color"], "one_of")
    graph = set_body_title(graph, block, "option_0", "a turn: 'large'")
    return set_body_title(graph, block, "option_1", "if # colour")


def written(text: str, folder: Path, name: str = "pipe.py") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def content_of(text: str) -> dict[str, Any]:
    found = embedded_graph(text)
    assert found is not None
    return dict(found.content())


@pytest.fixture
def nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """No worker is started: a graph that comes back was read."""

    def refuse(*_: object) -> object:
        raise AssertionError("the program was run")

    monkeypatch.setattr(importing, "_in_worker", refuse)


@pytest.mark.usefixtures("nothing_runs")
@pytest.mark.parametrize("name", one_in(6, load_recipes()))
def test_every_recipe_comes_back_from_every_target(name: str, tmp_path: Path) -> None:
    graph, read = load_recipe(name), 0
    for target in target_names():
        for with_ in ("", *load_target(target).additions):
            try:
                made = export(graph, target, CATALOG, with_=with_)
            except GraphExportError:
                continue
            found = wb.from_file(
                written(made.main.text, tmp_path, Path(next(iter(made.files))).name)
            )
            assert found.graph == graph
            assert found.report.is_exact
            assert set(found.report.exact) == {node.id for node in graph.walk()}
            assert "nothing was run" in str(found.report)
            read += 1
    assert read


def comes_back(graph: Graph) -> None:
    found = import_embedded(program(graph), "pipe.py", CATALOG)
    assert found is not None
    assert found.graph == graph
    assert found.report.is_exact


@examples(10, thorough=500)
@given(graph=GROWN)
def test_any_graph(graph: Graph) -> None:
    comes_back(graph)


@pytest.fixture(scope="module")
def coco(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_ramps(tmp_path_factory.mktemp("coco"))


@examples(2, thorough=100)
@given(seed=st.integers(0, 100_000))
def test_any_chain_with_its_annotations(seed: int, coco: Path) -> None:
    for graph in (whole_chain(coco, seed), block_chain(coco, seed)):
        comes_back(graph)


@pytest.mark.parametrize(
    "make", [in_order, shuffled, repeated, repeated_as_drawn, repeated_in_a_repeat, titled]
)
def test_blocks(make: Callable[[], Graph]) -> None:
    comes_back(make())


@examples(3, thorough=100)
@given(graph=BLOCK_GRAPHS)
def test_any_blocks(graph: Graph) -> None:
    comes_back(graph)


def test_the_comment_follows_the_plain_program() -> None:
    plain, carrying = export(CUTOUT, plain=True), export(CUTOUT)
    code, comment, _ = carrying.main.text.partition("\n\n# The graph of this program")
    hint = f"(  # {HINT}\n        jpegs, output_type=types.RGB, device=device\n    )\n"
    assert comment
    assert code.replace(hint, "(jpegs, output_type=types.RGB, device=device)\n") == plain.main.text
    assert carrying.main.lines.keys() == plain.main.lines.keys()
    assert embedded_graph(plain.main.text) is None
    assert max(map(len, carrying.main.text.splitlines())) <= 100
    assert "origins" not in content_of(carrying.main.text)["graph"]


def test_what_does_not_run_comes_back_too(tmp_path: Path) -> None:
    graph = CUTOUT.replace_node(replace(CUTOUT.node("erase"), muted=True))
    found = wb.from_file(written(program(graph), tmp_path))
    assert found.graph == graph
    assert found.document.origins["crop"].startswith("pipe.py:")


def test_data_and_warnings_are_no_obstacle(photos: Path, tmp_path: Path) -> None:
    flat = tmp_path / "flat"
    flat.mkdir()
    for path in sorted(photos.rglob("*.jpg"))[:3]:
        (flat / path.name).write_bytes(path.read_bytes())
    for data in (photos, flat):
        made = export(CUTOUT, "script", CATALOG, data=data)
        found = wb.from_file(written(made.main.text, tmp_path), args={"data": str(data)})
        assert found.graph == CUTOUT
        assert found.data == str(data)
    assert "Warning" in made.main.text or made.main.text != program()


def reformatted(text: str) -> str:
    command = [sys.executable, "-m", "ruff", "format", "--isolated", "--line-length", "70", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


UNCHANGED: Mapping[str, Callable[[str], str]] = {
    "line endings": lambda text: text.replace("\n", "\r\n"),
    "byte order mark": lambda text: f"\ufeff{text}",
    "whitespace": lambda text: text.replace(")\n", ")  \n").rstrip("\n"),
    "formatter": reformatted,
    "comments": lambda text: text.replace("\nimport time\n", "\nimport time  # for the rate\n"),
    "hash": lambda text: re.sub(r"sha256: \w{6}", "sha256: 000000", text),
}


@pytest.mark.usefixtures("nothing_runs")
@pytest.mark.parametrize("name", UNCHANGED)
def test_a_program_of_the_same_code_is_not_run(name: str, tmp_path: Path) -> None:
    text = UNCHANGED[name](program())
    assert text != program()
    found = wb.from_file(written(text, tmp_path))
    assert found.graph == CUTOUT
    assert found.report.is_exact
    said = "Only comments and formatting were changed" in str(found.report)
    assert said is (name in ("formatter", "comments", "hash"))


EDITS: Mapping[str, Callable[[str], str]] = {
    "renamed variable": lambda text: text.replace("images", "pictures"),
    "changed number": lambda text: text.replace("BATCH_SIZE = 64", "BATCH_SIZE = 32"),
    "added line": lambda text: text.replace(
        "    return images", "    images = fn.rotate(images, angle=5.0)\n    return images"
    ),
    "line after the comment": lambda text: f"{text}\nBATCH_SIZE = 16\n",
    "docstring": lambda text: text.replace("Erases a square", "Erases one square", 1),
}


@pytest.mark.parametrize("name", one_in(2, EDITS))
def test_an_edited_program_is_read_as_it_stands(name: str, tmp_path: Path) -> None:
    text = EDITS[name](program())
    assert text != program()
    found = wb.from_file(written(text, tmp_path))
    assert found.report.notes[0] == f"{NOT_USED}. {CHANGED}"
    bare = EDITS[name](export(CUTOUT, plain=True).main.text)
    other = wb.from_file(written(bare, tmp_path))
    assert found.graph == other.graph
    assert found.report.notes[1:] == other.report.notes
    if name == "added line":
        assert found.graph.node("rotate").args["angle"] == 5


def test_an_edited_proxy_program_is_not_exact(tmp_path: Path) -> None:
    """Its files, their order and its labels are in code of PyTorch, which the graph lacks."""
    text = program(load_recipe("imagenet-train"), "proxy")
    edited = text.replace("probability=0.5", "probability=0.25")
    assert edited != text
    found = wb.from_file(written(edited, tmp_path))
    assert [source.kind for source in found.graph.sources] == ["request"]
    assert "labels" not in found.graph.outputs
    (changed,) = found.report.entries
    assert (changed.kind, changed.node) == ("changed", "jpegs")
    assert "its files, their order and outputs that it passes on, such as labels" in changed.why
    assert changed.node not in found.report.exact
    assert found.report.headline.startswith("partly: ")
    assert "Imported partly: 1 changed." in found.graph.about


@pytest.mark.parametrize("plain", [False, True])
def test_copied_functions_that_became_nodes_are_told(plain: bool, tmp_path: Path) -> None:
    text = export(load_recipe("retinanet"), "script", CATALOG, plain=plain).main.text
    edited = text.replace("BATCH_SIZE = ", "BATCH_SIZE = 1 + ")
    edited += "\n\ndef areas_of(boxes):\n    return boxes\n"
    found = wb.from_file(written(edited, tmp_path))
    (note,) = [note for note in found.report.notes if "expanded" in note]
    more = "" if plain else "; the graph before the change is still at the end of the program"
    assert note == f"functions expanded into nodes: sides_of{more}"
    renamed = edited.replace("sides_of(", "my_sides(")
    other = wb.from_file(written(renamed, tmp_path))
    assert "expanded" not in str(other.report)


CLIPPED = "clip_boxes(boxes)"


@pytest.mark.parametrize(
    ("old", "new", "clipped"),
    [
        ("aspect_ratio=[0.5", "aspect_ratio=[0.75", False),
        (CLIPPED, f"{CLIPPED} + 0.0", True),
        ("2.0 * fn.reductions", "2.5 * fn.reductions", True),
        ("    return images, boxes", f"    boxes = {CLIPPED}\n    return images, boxes", True),
    ],
)
def test_boxes_are_clipped_where_the_export_does_so(
    old: str, new: str, clipped: bool, tmp_path: Path
) -> None:
    text = export(load_recipe("ssd"), "script", CATALOG, plain=True).main.text
    assert old in text
    found = wb.from_file(written(text.replace(old, new), tmp_path))
    assert found.report.is_exact
    assert ("reductions.max" in {node.op for node in found.graph.walk()}) is clipped
    crop = found.graph.node("random_bbox_crop")
    assert (crop.inputs["boxes"] == Port("reader", "boxes")) is (not clipped or "    boxes" in new)


def in_comment(old: str, new: str) -> Callable[[str], str]:
    def edit(text: str) -> str:
        code, begin, comment = text.partition("# The graph of this program")
        assert re.search(old, comment)
        return code + begin + re.sub(old, new, comment, count=1)

    return edit


def with_content(**changes: Any) -> Callable[[str], str]:
    """The comment of a program with other entries, and the hash that fits."""

    def edit(text: str) -> str:
        plain = export(CUTOUT, plain=True).main.text
        return embed_graph(plain, {**content_of(text), **changes})

    return edit


def bomb(text: str) -> str:
    data = base64.b64encode(zlib.compress(b" " * 20_000_000)).decode()
    rows = "\n".join(f"# {data[at : at + 96]}" for at in range(0, len(data), 96))
    return re.sub(r"(?s)(# sha256: \w+\n).*", rf"\1{rows}\n", text)


DAMAGE: Mapping[str, tuple[Callable[[str], str], str]] = {
    "a line lost": (in_comment(r"\n# [\w+/=]{96}\n", "\n"), "damaged"),
    "cut off": (lambda text: text[:-60], "damaged"),
    "a space": (in_comment(r"\n# (\w{9})", r"\n# \1 "), "damaged"),
    "no data": (in_comment(r"(?s)(sha256: \w+\n).*", r"\1"), "damaged"),
    "bomb": (bomb, "longer than"),
    "no graph": (with_content(graph=None), "not a graph file"),
    "a newer graph": (
        with_content(graph={"format": "dali-workbench-graph", "version": 99}),
        "newer",
    ),
    "an unknown target": (with_content(target="fortran"), "fortran"),
    "other options": (with_content(options={"with_": "", "reads": {"reader": "rm"}}), "known"),
    "options of another kind": (with_content(options=[1]), "known"),
    "another graph": (
        with_content(graph=json.loads(wb.dump_graph(load_recipe("simclr")))),
        "does not match the code, because one",
    ),
    "another number": (
        with_content(
            graph=json.loads(wb.dump_graph(set_arg(CUTOUT, CATALOG, "mirror", "probability", 0.25)))
        ),
        "does not match the code, because one",
    ),
    "a graph of another version": (
        with_content(graph=json.loads(wb.dump_graph(load_recipe("simclr"))), workbench="0.0.1"),
        "The program was written by version 0.0.1",
    ),
    "a graph that cannot run": (
        with_content(graph=json.loads(wb.dump_graph(replace(CUTOUT, outputs={})))),
        "cannot be exported",
    ),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_comment_that_does_not_fit_is_not_used(name: str) -> None:
    damage, said = DAMAGE[name]
    text = damage(program())
    assert text != program()
    with pytest.raises(GraphFormatError, match=said):
        import_embedded(text, "pipe.py", CATALOG)


def test_a_program_with_a_damaged_comment_is_read_by_its_code(tmp_path: Path) -> None:
    damage, _ = DAMAGE["cut off"]
    found = wb.from_file(written(damage(program()), tmp_path))
    assert found.report.notes[0].startswith(f"{NOT_USED}. The stored graph is damaged")
    assert found.graph.settings == CUTOUT.settings


def test_without_its_first_line_the_comment_is_none() -> None:
    text = program().replace("# The graph of this program", "# A graph")
    assert import_embedded(text, "pipe.py", CATALOG) is None


@pytest.mark.parametrize("edit", ["", "# The graph of this program\n# sha256: 0\n# eNq=\n"])
def test_a_text_in_the_code_that_looks_like_a_comment(edit: str) -> None:
    """The comment at the end is the program's; in a program without any, the text is no graph."""
    text = export(CUTOUT, plain=True).main.text
    text = text.replace("\nimport argparse", f'\nNOTE = """\n{edit}"""\nimport argparse')
    if edit:
        with pytest.raises(GraphFormatError, match="damaged"):
            import_embedded(text, "pipe.py", CATALOG)
    with pytest.raises(GraphFormatError, match="does not match the code"):
        import_embedded(embed_graph(text, content_of(program())), "pipe.py", CATALOG)


def test_a_function_is_read_untrusted_and_not_run(tmp_path: Path) -> None:
    @wb.node
    def dimmed(image: Any) -> Any:
        return np.asarray(image) // 3

    graph = dimmed.after(CUTOUT, "decode")
    text = program(graph)
    mark = tmp_path / "mark"
    body = f"open({str(mark)!r}, 'w').close()\n    return np.asarray(image) // 3"
    text = text.replace("return np.asarray(image) // 3", body)
    made = graph.node("dimmed")
    source = str(made.args["source"]).replace("return np.asarray(image) // 3", body)
    changed = graph.replace_node(made.with_args({"source": source}))
    content = {**content_of(text), "graph": json.loads(wb.dump_graph(changed))}
    code = text[: text.index("\n\n# The graph of this program")]
    found = wb.from_file(written(embed_graph(code, content), tmp_path))
    assert found.graph == changed
    assert not is_trusted(found.graph.node("dimmed"))
    assert "is not trusted" in str(found.report)
    assert not mark.exists()


def test_a_program_without_a_dali_graph_comes_back_as_long_as_it_is_whole(tmp_path: Path) -> None:
    text = program(target="dynamic")
    assert wb.from_file(written(text, tmp_path)).graph == CUTOUT
    edited = text.replace("batch_size: int = 64", "batch_size: int = 32")
    assert edited != text
    with pytest.raises(ImportFailedError) as caught:
        wb.from_file(written(edited, tmp_path))
    assert "dynamic mode" in str(caught.value)
    assert f"{NOT_USED}. {CHANGED}" in str(caught.value)


@pytest.mark.usefixtures("nothing_runs")
def test_a_notebook_that_was_run_comes_back(tmp_path: Path) -> None:
    notebook = json.loads(program(target="notebook"))
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] == "code":
            cell["execution_count"] = number
            cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ["8\n"]}]
    notebook["metadata"]["language_info"]["version"] = "3.12.1"
    text = json.dumps(notebook)
    assert wb.from_file(written(text, tmp_path, "pipe.ipynb")).graph == CUTOUT
    with pytest.raises(GraphFormatError, match=CHANGED):
        import_embedded(text.replace("BATCH_SIZE = 64", "BATCH_SIZE = 32"), "x.ipynb", CATALOG)
    del notebook["metadata"]["dali-workbench-graph"]
    assert import_embedded(json.dumps(notebook), "x.ipynb", CATALOG) is None


@pytest.mark.usefixtures("nothing_runs")
def test_names_and_data_that_the_program_has(photos: Path, tmp_path: Path) -> None:
    path = written(program(), tmp_path)
    assert wb.from_file(path, "build_pipeline").graph == CUTOUT
    listed = tmp_path / "list.txt"
    listed.write_text(f"{sorted(photos.rglob('*.jpg'))[0]} 3\n")
    found = wb.from_file(path, source=listed)
    assert [source.kind for source in found.graph.sources] == [open_dataset(listed).kind]


def test_other_names_and_values_are_looked_for_in_the_code(tmp_path: Path) -> None:
    path = written(program(), tmp_path)
    with pytest.raises(
        ImportFailedError,
        match=f"(?s)nothing.*{NOT_USED}. The stored graph has no pipeline 'nothing'",
    ):
        wb.from_file(path, "nothing")
    found = wb.from_file(path, "build_pipeline", args={"data": "photos", "batch_size": 7})
    assert found.graph.settings.batch_size == 7
    assert found.report.notes[0] == (
        f"{NOT_USED}. The stored graph has no parameter 'batch_size'. It has data."
    )


def test_the_hash_is_that_of_the_code() -> None:
    text = program()
    code, _, comment = text.partition("\n\n# The graph of this program")
    assert code_hash(code) in comment
    assert code_hash(code) == code_hash(code.replace("\n", " \r\n"))
    assert code_hash(code) != code_hash(code.replace("64", "65"))


@examples(20)
@given(
    st.dictionaries(st.text(), st.text() | st.integers()),
    st.sampled_from(["", "x = 1", "x = 1\n\n\n", '"""a"""\n# The graph of this program\n# a\n']),
)
def test_any_content_comes_back(content: dict[str, Any], code: str) -> None:
    text = embed_graph(code, content)
    found = embedded_graph(text)
    assert found is not None
    assert found.content() == content
    assert found.fits
    assert code_hash(found.code) == code_hash(code)
    assert all(line.startswith("#") for line in chain(text[len(code) :].split()[:1]))
