"""Graph files: whole round trips, and every kind of damage listed with its place."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.graph.control_flow.test_blocks import TWICE
from tests.helpers import GRAPHS, HOSTILE, TEXTS, VALUES, WRITABLE, chain_graph
from workbench.catalog import Value
from workbench.errors import GraphFormatError
from workbench.files import write_text
from workbench.graph import (
    Graph,
    Node,
    Port,
    Settings,
    check_graph,
    dump_graph,
    load_graph,
    load_recipe,
    load_recipes,
    read_graph,
)
from workbench.graph.edits.edit import rename_node
from workbench.graph.model import is_text
from workbench.graph.model.graph import changed_settings
from workbench.graph.storage.import_report import ImportIssue, ImportReport
from workbench.graph.storage.io import FORMAT, VERSION, graph_to_json
from workbench.graph.storage.layout import (
    MOST_SAVED,
    Document,
    Layout,
    SavedSample,
    dump_document,
    load_document,
    saved_samples_from_json,
)

NAMES = TEXTS.filter(bool)
CALLED = TEXTS.filter(is_text)
PORTS = st.builds(Port, NAMES, NAMES.filter(lambda name: "." not in name))
NODES = st.builds(
    Node,
    id=CALLED,
    op=TEXTS,
    args=st.dictionaries(TEXTS, VALUES, max_size=3),
    inputs=st.dictionaries(TEXTS, PORTS, max_size=3),
    device=st.sampled_from([None, "cpu", "gpu", "mixed"]),
    seed=st.none() | st.integers(),
)
ANY_GRAPH = st.builds(
    Graph,
    name=CALLED,
    about=CALLED,
    nodes=st.lists(NODES, max_size=4, unique_by=lambda node: node.id).map(tuple),
    outputs=st.dictionaries(TEXTS, PORTS, max_size=3),
    settings=st.fixed_dictionaries(
        {
            "batch_size": st.integers(),
            "num_threads": st.integers(),
            "seed": st.integers(),
            "device": st.sampled_from(["cpu", "mixed"]),
            "prefetch_queue_depth": st.integers(),
        }
    ).map(lambda values: changed_settings(Settings(), values)),
)


def document(**changes: Any) -> dict[str, Any]:
    return {**graph_to_json(load_recipe("imagenet-eval")), **changes}


def faults_of(data: Any) -> str:
    with pytest.raises(GraphFormatError) as caught:
        load_graph(data if isinstance(data, str) else json.dumps(data))
    return str(caught.value)


@given(GRAPHS)
def test_an_edited_graph_comes_back_whole(graph: Graph) -> None:
    assert load_graph(dump_graph(graph)) == graph


@given(ANY_GRAPH)
def test_any_graph_comes_back_whole_and_is_a_text_file(graph: Graph) -> None:
    text = dump_graph(graph)
    assert load_graph(text.encode("utf-8").decode("utf-8")) == graph


@pytest.mark.parametrize("text", [*HOSTILE, "x" * 10_000, "Zürich 東京 👩‍👩‍👧"])
def test_hostile_texts_come_back_whole_from_a_file(text: str, tmp_path: Path) -> None:
    graph = chain_graph("paste", paste={"fill_value": 1})
    node = replace(graph.node("paste"), args={"ratio": text, text: text})
    called = text if text in WRITABLE else "odd"
    graph = replace(graph.replace_node(node), name=called, about=called)
    assert read_graph(write_text(tmp_path / "graph.json", dump_graph(graph))) == graph


@pytest.mark.parametrize("entry", ["name", "about", "id"])
def test_half_a_character_is_refused_where_source_is_made_of_it(entry: str) -> None:
    odd = "\ud800 half"
    changes: dict[str, Any] = {"nodes": [{"id": odd, "op": "a"}]} if entry == "id" else {entry: odd}
    with pytest.raises(
        GraphFormatError, match=r"'\\ud800 half' contains a lone surrogate"
    ) as found:
        load_graph(json.dumps(document(**changes)))
    assert entry in str(found.value)


@pytest.mark.parametrize("value", [0, 1, True, 1.0, -0.0, 1e-300, 2**62, (), (1, (2.0, ("a",)))])
def test_values_keep_their_types(value: Value) -> None:
    graph = Graph(nodes=(Node("a", "b", {"value": value}),))
    assert repr(load_graph(dump_graph(graph)).node("a").args["value"]) == repr(value)


def test_the_least_file_is_enough() -> None:
    assert load_graph(json.dumps({"format": FORMAT, "version": VERSION})) == Graph()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "{'a': 1}",
        "hello",
        '{"a": 1,}',
        "[" * 100_000,
        '{"a": 1' + "1" * 5000 + "}",
        "\x00",
    ],
)
def test_what_is_not_json_is_said_to_be_none(text: str) -> None:
    assert "The text is not valid JSON" in faults_of(text)


def test_a_path_in_the_place_of_the_text_is_said_to_be_one() -> None:
    told = faults_of("folder/mine.json")
    assert told.startswith("'folder/mine.json' is a path")
    assert "wb.read_graph(path)" in told


@pytest.mark.parametrize("text", ["[]", "null", "3", '"text"', "{}", '{"format": "onnx"}'])
def test_other_json_is_no_graph_file(text: str) -> None:
    assert 'it has no "format": "dali-workbench-graph"' in faults_of(text)


def test_a_newer_version_asks_for_a_newer_workbench() -> None:
    message = faults_of(document(version=VERSION + 1))
    assert f"version {VERSION + 1}" in message
    assert f"up to {VERSION}" in message
    assert "newer workbench" in message


@pytest.mark.parametrize("version", [None, "1", 0, -1, 1.5, True, [1]])
def test_a_version_must_be_a_whole_number(version: object) -> None:
    assert "format version of the graph is" in faults_of(document(version=version))


def test_too_long_a_text_is_not_even_parsed() -> None:
    assert "the limit is 16,000,000" in faults_of(" " * 16_000_001)


def test_every_wrong_type_is_listed_with_its_place() -> None:
    message = faults_of(
        {
            "format": FORMAT,
            "version": VERSION,
            "name": 3,
            "about": None,
            "colour": "red",
            "settings": {
                "batch_size": "64",
                "seed": 1.5,
                "num_threads": True,
                "device": "tpu",
                "x": 1,
            },
            "nodes": [
                "reader",
                {"id": 1, "op": None, "args": [], "inputs": "x", "device": "dla", "seed": "s"},
                {"id": "a", "op": "b", "args": {"v": None, "w": [1, {"x": 2}]}, "note": ""},
                {"id": "c", "op": "d", "inputs": {"data": "nodot", "more": 3, "dots": "."}},
            ],
            "outputs": {"images": ".output", "labels": "reader."},
        }
    )
    for place in (
        "name: 3 is not a string",
        "about: None is not a string",
        "colour is unknown. Use one of: about,",
        "settings.batch_size: '64' is not an integer",
        "settings.seed: 1.5 is not an integer",
        "settings.num_threads: True is not an integer",
        "settings.device: 'tpu' is not cpu or mixed",
        "settings.x is unknown. Use one of: batch_size,",
        "nodes[0]: 'reader' is not an object",
        "nodes[1].id: 1 is not a string",
        "nodes[1].op: None is not a string",
        "nodes[1].args: [] is not an object",
        "nodes[1].inputs: 'x' is not an object",
        "nodes[1].device: 'dla' is not cpu, gpu or mixed",
        "nodes[1].seed: 's' is not an integer",
        "nodes[2].note is unknown. Use one of: id,",
        "nodes[2].args.v: None is not a number, text, truth value or list",
        "nodes[2].args.w[1]: {'x': 2} is not a number, text, truth value or list",
        "nodes[3].inputs.data: 'nodot' is not node.output",
        "nodes[3].inputs.more: 3 is not node.output",
        "nodes[3].inputs.dots: '.' is not node.output",
        "outputs.images: '.output' is not node.output",
        "outputs.labels: 'reader.' is not node.output",
    ):
        assert place in message, place
    assert "Traceback" not in message


def test_a_removed_setting_is_ignored_with_a_warning() -> None:
    text = json.dumps(document(settings={"cpu_share": 10, "device": "mixed"}))
    with pytest.warns(UserWarning, match="settings.cpu_share is 10, but no longer exists"):
        graph = load_graph(text)
    assert graph.settings == Settings(device="mixed")
    assert "cpu_share" not in dump_graph(graph)


@pytest.mark.parametrize("entry", ["settings", "nodes", "outputs"])
@pytest.mark.parametrize("value", [3, "text", None, True])
def test_no_entry_of_a_wrong_type_passes(entry: str, value: object) -> None:
    assert f"{entry}: " in faults_of(document(**{entry: value}))


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_must_be_finite(number: str) -> None:
    text = json.dumps(document()).replace("256", number)
    assert "nodes[1].args.resize_shorter" in faults_of(text)


@pytest.mark.parametrize("depth", [200, 400, 900, 5000])
def test_lists_too_deep_to_be_values_are_refused(depth: int) -> None:
    text = json.dumps(document()).replace("256", "[" * depth + "]" * depth)
    assert "JSON" in faults_of(text) or "deep" in faults_of(text)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
        max_leaves=8,
    ),
    st.sampled_from(["name", "about", "settings", "nodes", "outputs", "version"]),
    st.booleans(),
)
def test_whatever_stands_in_an_entry_is_read_or_refused(
    value: Any, entry: str, in_node: bool
) -> None:
    data = document()
    if in_node:
        data["nodes"][1] = {"id": "decode", "op": "decoders.image", entry: value, "inputs": value}
    else:
        data[entry] = value
    try:
        graph = load_graph(json.dumps(data))
    except GraphFormatError:
        return
    assert load_graph(dump_graph(graph)) == graph


def test_unknown_operators_are_kept(catalog: Any) -> None:
    data = document()
    data["nodes"][1]["op"] = "resiez"
    graph = load_graph(json.dumps(data))
    assert graph.node("resize").op == "resiez"
    (fault,) = check_graph(graph, catalog)
    assert fault.node == "resize"
    assert "'resiez' is not an operator" in fault.message
    assert "Did you mean resize?" in fault.remedy
    assert load_graph(dump_graph(graph)) == graph


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "missing.json"
    binary = tmp_path / "binary.json"
    binary.write_bytes(b"\xff\xfe\x00")
    text = tmp_path / "text.json"
    text.write_text("hello")
    for path in (missing, binary, text, tmp_path):
        with pytest.raises(GraphFormatError, match=str(path)):
            read_graph(path)


@pytest.mark.parametrize("graph", load_recipes().values(), ids=lambda graph: graph.name)
def test_recipes_come_back_whole(graph: Graph) -> None:
    assert load_graph(dump_graph(graph)) == graph


def test_an_id_that_two_nodes_have_is_refused_with_both_places() -> None:
    data = graph_to_json(TWICE)
    (block,) = (node for node in data["nodes"] if node["op"] == "repeat")
    inner = block["bodies"]["body"]["nodes"][0]
    inner["id"] = block["id"]
    message = faults_of(data)
    assert f"bodies.body.nodes[0].id: {inner['id']!r} is also the id of nodes[" in message


@pytest.mark.parametrize("setting", ["batch_size", "seed", "pipelines"])
def test_a_setting_that_no_float_holds_is_refused(setting: str) -> None:
    message = faults_of(document(settings={setting: 10**400}))
    assert f"settings.{setting}: 1000" in message
    assert "too large" in message


@pytest.mark.parametrize("value", ["PWN()", "2", 1.5, True, [2], [[2]], "1) or PWN() or (1"])
@pytest.mark.parametrize("argument", ["times", "most"])
def test_an_argument_of_a_block_has_its_kind(argument: str, value: Any) -> None:
    data = graph_to_json(TWICE)
    (block,) = (node for node in data["nodes"] if node["op"] == "repeat")
    block["args"] = {argument: value}
    message = faults_of(data)
    assert f"args.{argument} (repeat): " in message
    assert "Use an integer" in message


def test_a_value_that_a_person_typed_stays_a_fault(catalog: Any) -> None:
    data = document()
    data["nodes"][1]["args"] = {"resize_shorter": "0.x"}
    graph = load_graph(json.dumps(data))
    assert load_graph(dump_graph(graph)) == graph
    (fault,) = check_graph(graph, catalog)
    assert "'0.x' is not a number" in fault.message


JITTER = load_recipe("rotate-jitter")
PLACES = st.tuples(*[st.floats(-2e4, 2e4, allow_nan=False)] * 2)


@given(GRAPHS, st.data())
def test_a_document_comes_back_as_it_was(graph: Graph, data: st.DataObject) -> None:
    ids = [node.id for node in graph.nodes] + [f":{name}" for name in graph.outputs]
    positions = data.draw(st.dictionaries(st.sampled_from(ids), PLACES))
    document = Document(graph, Layout(positions, frozenset(ids[:2])))
    text = dump_document(document)
    assert load_document(text) == document
    assert load_graph(text) == graph


def test_a_graph_without_layout_is_written_without_one() -> None:
    assert "layout" not in json.loads(dump_document(Document(JITTER)))


@pytest.mark.parametrize(
    "layout",
    [
        7,
        [],
        {"positions": 3, "unfolded": "angle"},
        {"positions": {"rotate": [1, 2, 3]}, "unfolded": [1, None]},
        {"positions": {"rotate": ["1", "2"]}},
        {"positions": {"rotate": [True, False]}},
        {"positions": {"rotate": [1e300, 0]}},
        {"positions": {"rotate": [10**400, 0]}},
        {"positions": {"nowhere": [1, 2]}, "unfolded": ["nowhere"]},
    ],
)
def test_a_damaged_layout_is_passed_over(layout: object) -> None:
    data = json.loads(dump_document(Document(JITTER)))
    text = json.dumps(data | {"layout": layout})
    assert load_document(text) == Document(JITTER)


def test_positions_beyond_numbers_are_passed_over() -> None:
    data = json.loads(dump_document(Document(JITTER)))
    text = json.dumps(
        data | {"layout": {"positions": {"rotate": [float("nan"), 0], "flip": [1, 2]}}}
    )
    assert load_document(text).layout.positions == {"flip": (1.0, 2.0)}


def test_text_that_is_no_graph_is_refused() -> None:
    with pytest.raises(GraphFormatError, match="not a graph file"):
        load_document('{"layout": {}}')


def test_a_layout_keeps_what_the_graph_has() -> None:
    layout = Layout({"rotate": (1, 2), "gone": (3, 4), ":images": (5, 6)}, frozenset({"gone"}))
    assert layout.without_missing(JITTER) == Layout({"rotate": (1, 2), ":images": (5, 6)})


def test_a_renamed_node_stays_in_its_place() -> None:
    layout = Layout({"rotate": (1, 2)}, frozenset({"rotate"}))
    assert layout.renamed("rotate", "turn") == Layout({"turn": (1, 2)}, frozenset({"turn"}))


def test_lines_of_the_source_are_kept_beside_the_graph() -> None:
    document = Document(JITTER, origins={"rotate": "train.py:12", "flip": "train.py:14"})
    text = dump_document(document)
    assert load_document(text) == document
    assert load_graph(text) == JITTER
    assert document.renamed(rename_node(JITTER, "rotate", "turn"), "rotate", "turn").origins == {
        "turn": "train.py:12",
        "flip": "train.py:14",
    }
    fewer = Graph(nodes=tuple(node for node in JITTER.nodes if node.id != "rotate"))
    assert document.with_graph(fewer).origins == {"flip": "train.py:14"}


@pytest.mark.parametrize(
    "origins", [7, [], {"nowhere": "a.py:1"}, {"rotate": 3}, {"rotate": "x" * 1000}]
)
def test_damaged_lines_of_the_source_are_passed_over(origins: object) -> None:
    data = json.loads(dump_document(Document(JITTER)))
    assert load_document(json.dumps(data | {"origins": origins})) == Document(JITTER)


# Saved samples, next to the graph in its file.

DRAWS = (SavedSample(42, 3, 64, 5, None, "cat.jpg"), SavedSample(7, 0, 4, None, 2))


def test_they_travel_with_the_graph_and_say_nothing_about_what_runs() -> None:
    document = Document(load_recipe("simclr"), draws=DRAWS)
    text = dump_document(document)
    assert load_document(text) == document
    assert load_graph(text) == load_recipe("simclr")
    assert "draws" not in json.loads(dump_document(replace(document, draws=())))


@pytest.mark.parametrize(
    "entry",
    [
        "seed 42",
        {"seed": 42, "batch": 1},
        {"seed": -1, "batch": 1, "batch_size": 4},
        {"seed": 1, "batch": 1, "batch_size": 0},
        {"seed": 1.5, "batch": 1, "batch_size": 4},
        {"seed": True, "batch": 1, "batch_size": 4},
        {"seed": 1, "batch": 1, "batch_size": 4, "sample": "2"},
        {"seed": 2**40, "batch": 1, "batch_size": 4},
    ],
)
def test_what_cannot_be_read_costs_nobody_the_rest(entry: object) -> None:
    good = {"seed": 1, "batch": 2, "batch_size": 4, "note": 3}
    assert saved_samples_from_json([entry, good]) == (SavedSample(1, 2, 4),)


def test_no_more_are_read_than_can_be_kept() -> None:
    assert saved_samples_from_json({"seed": 1}) == ()
    good = {"seed": 1, "batch": 2, "batch_size": 4}
    assert len(saved_samples_from_json([good] * 1000)) == MOST_SAVED


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("reader read /home/ann/photos/: give that", "reader read .../photos: give that"),
        ("no file '/home/Ann Smith/a b.yaml', '~/c/d.py'", "no file '.../a b.yaml', '.../d.py'"),
        ("root=/mnt/x/train,/mnt/x/val; (~ann/y/z)", "root=.../train,.../val; (.../z)"),
        ("file:///home/ann/a.jpg", "file://.../a.jpg"),
        ("https://a.org/b/c and gs://bucket/a/b", "https://a.org/b/c and gs://bucket/a/b"),
        ("CPU/GPU, 1 / 255, a/b/c and /data", "CPU/GPU, 1 / 255, a/b/c and /data"),
    ],
)
def test_a_stored_report_has_the_last_names_of_paths(said: str, kept: str) -> None:
    issue = ImportIssue("fault", "", "", said)
    report = ImportReport((), (), (issue,), (said,), {"data": said})
    stored = load_document(dump_document(Document(chain_graph(), report=report))).report
    assert stored == ImportReport((), (), (replace(issue, why=kept),), (kept,), {"data": kept})
