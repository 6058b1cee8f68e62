"""What the canvas may ask for, what the search adds, and what is copied as code."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import CHAINS, HOSTILE, VALUES
from tests.thorough import examples
from tests.ui.screen import Make, Ready
from workbench.catalog import load_catalog
from workbench.catalog.templates import load_templates
from workbench.emit import emit_script
from workbench.errors import CatalogError, GraphEditError, WorkbenchError
from workbench.graph import Graph, Port, check_graph, load_recipe
from workbench.graph.edits.compose import edge_id
from workbench.graph.edits.fragment import copy_fragment
from workbench.graph.model.bounds import MOST_CANVAS_NODES
from workbench.graph.storage.layout import Document, Layout
from workbench.ui.app.actions import ACTIONS
from workbench.ui.canvas.canvas_edit import CanvasEdit
from workbench.ui.canvas.canvas_payloads import folded_generators_in_scope
from workbench.ui.canvas.insertions import (
    Add,
    AddFeeding,
    AddOnEdge,
    AddTemplate,
    Branch,
    Insertion,
)
from workbench.ui.contract.action import parse_action, tag_of
from workbench.ui.export.export_actions import CopyCode
from workbench.ui.inspector.argument_actions import InspectorEdit
from workbench.ui.state.history import History

# What the canvas may ask for: every action, and random ones by the hundred.

CATALOG = load_catalog()
JITTER = Document(load_recipe("rotate-jitter"))


def done(document: Document, do: str, **message: Any) -> tuple[Document, list[str] | None]:
    action = parse_action("canvas", ACTIONS["canvas"], {"do": do, **message})
    assert isinstance(action, CanvasEdit)
    return action.edit_at("", document, CATALOG)


def test_an_added_node_is_selected() -> None:
    document, selected = done(JITTER, "add", op="gaussian_blur", after="resize")
    assert selected == ["gaussian_blur"]
    assert document.graph.node("rotate").inputs["data"].node == "gaussian_blur"


def test_a_reader_is_added_on_its_own_wherever_one_stands() -> None:
    document, selected = done(JITTER, "add", op="readers.file", after="flip")
    assert selected == ["reader_2"]
    others = tuple(node for node in document.graph.nodes if node.id != "reader_2")
    assert others == JITTER.graph.nodes


def test_a_taken_port_is_refused_and_a_dragged_end_moves() -> None:
    where = {"source": "resize", "output": "output", "target": "color", "input": "data"}
    with pytest.raises(GraphEditError, match=r"'data' is already connected to rotate\.output"):
        done(JITTER, "connect", **where, edge="")
    document, _ = done(JITTER, "connect", **where, edge="color:data")
    assert document.graph.node("color").inputs["data"] == Port("resize", "output")


def test_an_output_is_given_out_and_cut() -> None:
    where = {"source": "resize", "output": "output", "target": ""}
    document, _ = done(JITTER, "connect", **where, input="", edge="")
    assert document.graph.outputs["images_2"] == Port("resize", "output")
    document, _ = done(document, "rename", node=":images_2", to="small")
    document, _ = done(document, "remove", nodes=[":small"], edges=[])
    assert document.graph == JITTER.graph
    document, _ = done(document, "disconnect", edges=[":labels", "rotate:angle"])
    assert list(document.graph.outputs) == ["images"]
    assert "angle" not in document.graph.node("rotate").inputs


def test_labels_do_not_become_images_unnoticed() -> None:
    images = {"source": "resize", "output": "output", "target": "", "edge": ""}
    with pytest.raises(GraphEditError, match=r"'labels' is label, but that of resize\.output"):
        done(JITTER, "connect", **images, input="labels")
    document, _ = done(JITTER, "connect", **images, input="images")
    assert document.graph.outputs["images"] == Port("resize", "output")


def test_a_draw_of_its_own_gives_way_to_a_shared_one() -> None:
    document, _ = done(JITTER, "duplicate", nodes=["rotate"])
    shared = {"source": "angle", "output": "output", "target": "rotate_2", "input": "angle"}
    document, _ = done(document, "connect", **shared, edge="")
    assert document.graph.node("rotate_2").inputs["angle"] == Port("angle", "output")
    assert not document.graph.has("angle_2")


def test_after_removal_the_node_before_is_selected() -> None:
    _, selected = done(JITTER, "remove", nodes=["rotate", "color"], edges=[])
    assert selected == ["resize"]
    everything = [node.id for node in JITTER.graph.nodes]
    document, selected = done(JITTER, "remove", nodes=everything, edges=["rotate:data"])
    assert (document.graph.nodes, selected) == ((), [])


def test_positions_are_kept_and_follow_names() -> None:
    document, _ = done(JITTER, "place", positions={"rotate": [1, 2], ":images": [3, 4], "x": [0]})
    assert document.layout.positions == {"rotate": (1, 2), ":images": (3, 4)}
    document, selected = done(document, "rename", node="rotate", to="turn")
    assert selected == ["turn"]
    assert document.layout.positions["turn"] == (1, 2)
    document, _ = done(document, "remove", nodes=["turn"], edges=[])
    assert document.layout.positions == {":images": (3, 4)}
    document, _ = done(document, "arrange")
    assert document.layout == Layout()


def test_a_pasted_part_lands_where_the_view_has_room() -> None:
    text = copy_fragment(JITTER.graph, ["rotate", "color"])
    placed, _ = done(JITTER, "place", positions={"rotate": [1, 2]})
    document, nodes = done(placed, "paste", text=text, x=300, y=-40)
    assert nodes == ["rotate_2", "color_2"]
    assert document.layout.positions == {"rotate": (1, 2), "rotate_2": (300, -40)}
    for odd in ({}, {"x": "left", "y": 3}):
        with pytest.raises(GraphEditError, match="canvas cannot paste"):
            done(placed, "paste", text=text, **odd)
    document, _ = done(placed, "paste", text=text, x=float("nan"), y=0)
    assert document.layout == placed.layout
    document, _ = done(JITTER, "paste", text=text, x=300, y=-40)
    assert document.layout == Layout()  # all is laid out automatically


def test_a_generator_unfolds_and_folds() -> None:
    assert "angle" in folded_generators_in_scope(JITTER.graph, CATALOG, JITTER.layout)
    document, selected = done(JITTER, "unfold", node="rotate", arg="angle")
    assert selected == ["angle"]
    assert "angle" not in folded_generators_in_scope(document.graph, CATALOG, document.layout)
    assert done(document, "fold", node="angle") == (JITTER, ["rotate"])
    with pytest.raises(GraphEditError, match=r"rotate\.fill_value is not connected"):
        done(JITTER, "unfold", node="rotate", arg="fill_value")


def test_a_shared_generator_stays_a_node() -> None:
    document, _ = done(JITTER, "disconnect", edges=["color:hue"])
    shared = {"source": "angle", "output": "output", "target": "color", "input": "hue"}
    document, _ = done(document, "connect", **shared, edge="")
    assert "angle" not in folded_generators_in_scope(document.graph, CATALOG, document.layout)
    with pytest.raises(GraphEditError, match="stays a separate node"):
        done(document, "fold", node="angle")


def test_a_copy_into_an_empty_canvas_is_the_graph() -> None:
    text = copy_fragment(JITTER.graph, [node.id for node in JITTER.graph.nodes])
    document, selected = done(Document(Graph()), "paste", text=text, x=0, y=0)
    assert document.graph.nodes == JITTER.graph.nodes
    assert document.graph.outputs == JITTER.graph.outputs
    assert selected == ["reader", "decode", "resize", "rotate", "color", "flip"]


def test_a_copy_is_put_behind_the_original_with_a_draw_of_its_own() -> None:
    document, selected = done(JITTER, "duplicate", nodes=["rotate"])
    assert selected == ["rotate_2"]
    copy = document.graph.node("rotate_2")
    assert copy.inputs == {"data": Port("rotate", "output"), "angle": Port("angle_2", "output")}
    assert document.graph.node("color").inputs["data"] == Port("rotate_2", "output")
    assert check_graph(document.graph, CATALOG) == ()


@pytest.mark.thorough
def test_a_canvas_has_an_end() -> None:
    document = JITTER
    while 2 * len(document.graph.nodes) <= MOST_CANVAS_NODES:
        ids = [node.id for node in document.graph.nodes]
        document, _ = done(document, "duplicate", nodes=ids)
    ids = [node.id for node in document.graph.nodes]
    with pytest.raises(GraphEditError, match=f"the canvas shows at most {MOST_CANVAS_NODES}"):
        done(document, "duplicate", nodes=ids)


JUNK: st.SearchStrategy[Any] = st.one_of(
    st.none(), VALUES, st.sampled_from(HOSTILE), st.dictionaries(st.text(max_size=3), VALUES)
)


def messages(document: Document) -> st.SearchStrategy[tuple[str, str, dict[str, Any]]]:
    """Messages that mostly name what is there, and sometimes anything."""
    graph = document.graph
    ids = [node.id for node in graph.nodes] + ["nowhere", ""]
    edges = [edge_id(edge.target, edge.input) for edge in graph.edges]
    edges += [f":{name}" for name in graph.outputs] + ["rotate:nothing"]
    ops = st.sampled_from(sorted(CATALOG))
    node = st.sampled_from(ids)
    arg = st.sampled_from(["angle", "data", "brightness", "input_1", "images", "size", ""])
    known = {
        "op": ops,
        "after": node,
        "node": st.one_of(node, st.sampled_from([e for e in edges if e.startswith(":")] or [""])),
        "output": st.sampled_from(["output", "jpegs", "labels", ""]),
        "source": node,
        "target": node,
        "input": arg,
        "arg": arg,
        "edge": st.sampled_from([*edges, ""]),
        "edges": st.lists(st.sampled_from(edges), max_size=2),
        "nodes": st.lists(node, max_size=3),
        "by": st.sampled_from([-1, 1]),
        "to": st.sampled_from(["turn", "images", "for", *HOSTILE]),
        "positions": st.dictionaries(node, st.lists(st.floats(-9, 9), min_size=2, max_size=2)),
        "text": st.sampled_from(["{}", *HOSTILE]),
        "value": VALUES,
        "key": st.sampled_from(["range", "values", "probability"]),
        "device": st.sampled_from(["cpu", "gpu", "mixed", "", "tpu"]),
        "group": st.just(""),
        "x": st.floats(-9, 9),
        "y": st.floats(-9, 9),
    }
    exact = st.fixed_dictionaries(known)
    spoilt = st.tuples(exact, st.sampled_from(sorted(known)), JUNK).map(
        lambda made: made[0] | {made[1]: made[2]}
    )
    edits = {"canvas": CanvasEdit, "inspector": InspectorEdit}
    actions = [
        (component, tag_of(kind))
        for component, base in edits.items()
        for kind in ACTIONS[component]
        if issubclass(kind, base)
    ]
    return st.tuples(st.sampled_from(actions), st.one_of(exact, exact, spoilt)).map(
        lambda made: (*made[0], made[1])
    )


@given(st.data())
@examples(20, thorough=1200)
def test_any_edits_leave_a_graph_that_runs_or_says_why_and_can_be_undone(
    data: st.DataObject,
) -> None:
    history = History(JITTER.graph)
    states = [history.document]
    for _ in range(data.draw(st.integers(1, 12))):
        component, do, message = data.draw(messages(history.document))
        try:
            action = parse_action(component, ACTIONS[component], {"do": do, **message})
            if isinstance(action, CanvasEdit):
                document, _ = action.edit_at("", history.document, CATALOG)
                history.push_document(document)
            else:
                assert isinstance(action, InspectorEdit)
                history.push(action.edit_graph(history.now, CATALOG))
        except WorkbenchError:
            assert history.document == states[-1]  # a refused edit changes nothing
        if history.document != states[-1]:
            states.append(history.document)
        if not check_graph(history.now, CATALOG):
            compile(emit_script(history.now, CATALOG).text, "script", "exec")
    redone = []
    for state in reversed(states):
        assert history.document == state
        redone.append(history.document)
        history.undo()
    assert not history.can_undo
    for state in reversed(redone[:-1]):
        assert history.redo()
        assert history.document == state


def test_what_is_dropped_on_its_own_stands_there() -> None:
    loose = {"op": "gaussian_blur", "node": "", "output": "", "at": [40.0, 50.0]}
    by_hand, _ = done(JITTER, "place", positions={"rotate": [1.0, 2.0]})
    document, selected = done(by_hand, "branch", **loose)
    assert selected == ["gaussian_blur"]
    assert document.layout.positions["gaussian_blur"] == (40.0, 50.0)
    automatic, _ = done(JITTER, "branch", **loose)
    assert automatic.layout.positions == {}


# Operators added by the search have no faults: inputs are connected, or the reason is shown.

RECIPE = load_recipe("rotate-jitter")
NAMES = sorted([*CATALOG, *load_templates()])


def added(graph: Graph, action: Insertion) -> Graph:
    return action.edit_body(Document(graph), CATALOG)[0].graph


def test_what_an_operator_needs_comes_along() -> None:
    graph = added(RECIPE, Add("permute_batch", "resize", sound=True))
    assert graph.node("permute_batch").inputs["indices"] == Port("batch_permutation", "output")
    assert check_graph(graph, CATALOG) == ()
    bare = added(RECIPE, Add("permute_batch", "resize"))
    assert check_graph(bare, CATALOG)


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        (Add("rotate", ""), "it is not connected"),
        (AddTemplate("gamma"), "Add a reader first"),
    ],
)
def test_on_an_empty_canvas_only_a_beginning_is_added(action: Insertion, reason: str) -> None:
    assert reason in action.fault_in(Graph(), CATALOG)
    graph = added(Graph(), Add("readers.file", "", sound=True))
    assert [node.op for node in graph.nodes] == ["readers.file"]


def test_what_would_be_a_fault_further_on_is_refused() -> None:
    action = Add("crop_mirror_normalize", "resize", sound=True)
    with pytest.raises(GraphEditError, match="_normalize cannot be inserted here: rotate"):
        added(RECIPE, action)
    assert "rotate.data: it accepts HWC" in action.fault_in(RECIPE, CATALOG)
    assert Add("crop_mirror_normalize", "flip").fault_in(RECIPE, CATALOG) == ""


def test_faults_that_are_there_already_refuse_nothing() -> None:
    broken = RECIPE.replace_node(RECIPE.node("flip").__class__("flip", "flip"))
    assert check_graph(broken, CATALOG)
    assert Add("hue", "resize").fault_in(broken, CATALOG) == ""


@pytest.mark.parametrize(
    "action",
    [
        AddTemplate("gamma", after="resize"),
        AddTemplate("gamma", edge="rotate:data"),
        AddTemplate("gamma"),
    ],
)
def test_a_template_goes_where_an_operator_goes(action: AddTemplate) -> None:
    document, selected = action.edit_body(Document(RECIPE), CATALOG)
    assert selected == ["gamma"]
    assert document.graph.consumers("gamma") or Port("gamma", "output") in (
        *document.graph.outputs.values(),
    )
    assert check_graph(document.graph, CATALOG) == ()


def test_a_branch_leaves_what_is_there() -> None:
    action = AddTemplate("gamma", node="resize", output="output")
    assert added(RECIPE, action).outputs == RECIPE.outputs


def test_an_unknown_template_is_named() -> None:
    with pytest.raises(CatalogError, match="'gama' is not a template"):
        added(RECIPE, AddTemplate("gama"))


@given(CHAINS, st.data())
@examples(15)
def test_whatever_is_added_soundly_brings_no_fault(graph: Graph, data: st.DataObject) -> None:
    before = check_graph(graph, CATALOG)
    name = data.draw(st.sampled_from(NAMES))
    edges = [f"{edge.target}:{edge.input}" for edge in graph.edges]
    edge = data.draw(st.sampled_from([*edges, *(f":{output}" for output in graph.outputs)]))
    after = data.draw(st.sampled_from(["", *(node.id for node in graph.nodes)]))
    if name in CATALOG:
        actions: list[Insertion] = [
            Add(name, after, sound=True),
            AddOnEdge(name, edge, sound=True),
        ]
    else:
        actions = [
            AddTemplate(name, after=after, sound=True),
            AddTemplate(name, edge=edge, sound=True),
        ]
    for action in actions:
        refused = action.fault_in(graph, CATALOG)
        try:
            made = added(graph, action)
        except GraphEditError:
            assert refused
        else:
            assert not refused
            assert len(check_graph(made, CATALOG)) <= len(before)


def test_an_input_is_fed_by_what_is_added_before_it() -> None:
    graph = added(RECIPE, AddFeeding("gaussian_blur", "rotate", "data", sound=True))
    assert graph.node("rotate").inputs["data"] == Port("gaussian_blur", "output")
    assert graph.node("gaussian_blur").inputs["data"] == Port("resize", "output")
    loose = added(RECIPE, Branch("gaussian_blur", "", ""))
    fed = added(loose, AddFeeding("decoders.image", "gaussian_blur", "data"))
    assert fed.node("gaussian_blur").inputs["data"] == Port("decode_2", "output")
    with pytest.raises(GraphEditError, match=r"cannot feed gaussian_blur\.data"):
        added(loose, AddFeeding("random.uniform", "gaussian_blur", "data"))


def test_mixed_labels_have_as_many_classes_as_the_data(ready: Ready) -> None:
    model, screen = ready
    screen.wait(lambda s: len(s["data", "summary"]["classes"]) >= 8, "the classes")
    model.act("canvas", {"do": "add_template", "template": "mixup", "after": "resize"})
    node = next(node for node in model.graph.nodes if node.op == "follow_labels")
    assert node.args["num_classes"] == len(screen["data", "summary"]["classes"])


# Nodes as the lines that the exported script has for them.


def test_the_lines_are_those_of_the_script(make: Make) -> None:
    model, screen = make(graph=load_recipe("rotate-jitter"), connected=False)
    model.act("canvas", {"do": "copy_code", "nodes": ["rotate"]})
    first = screen["canvas", "copied_code"]
    assert [line.partition("(")[0] for line in first["text"].splitlines()] == [
        "angle = fn.random.uniform",
        "images = fn.rotate",
    ]
    model.act("canvas", {"do": "copy_code", "nodes": []})
    whole = screen["canvas", "copied_code"]
    assert whole["number"] == first["number"] + 1
    assert whole["text"].startswith("jpegs, labels = fn.readers.file(\n    **find_files")
    source = model.state.checked.source
    assert source is not None
    assert all(line in source.text for line in whole["text"].splitlines())


def test_what_the_script_leaves_out_is_said(make: Make) -> None:
    model, _ = make(graph=load_recipe("rotate-jitter"), connected=False)
    model.act("canvas", {"do": "mute", "nodes": ["rotate"], "muted": True})
    with pytest.raises(GraphEditError, match="no line for rotate: muted"):
        CopyCode(["rotate"]).copy(model.state)
    assert "rotate" in CopyCode(["rotate", "flip"]).copy(model.state)
    assert "fn.flip" in model.state.copied_code["text"]
    model.act("canvas", {"do": "disconnect", "edges": ["color:data"]})
    with pytest.raises(GraphEditError, match="was not copied"):
        CopyCode(["flip"]).copy(model.state)
