"""What the search adds is no fault: it is fed what it needs, or refused with the reason."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import CHAINS
from tests.thorough import examples
from tests.ui.screen import Screen
from workbench.catalog import load_catalog
from workbench.catalog.templates import load_templates
from workbench.errors import CatalogError, GraphEditError
from workbench.graph import Graph, Port, check_graph, load_recipe
from workbench.graph.storage.layout import Document
from workbench.ui.app.view_model import ViewModel
from workbench.ui.canvas.insertions import apply_insertion, fault_of_insertion
from workbench.ui.contract.actions import canvas

CATALOG = load_catalog()
JITTER = load_recipe("rotate-jitter")
NAMES = sorted([*CATALOG, *load_templates()])


def added(graph: Graph, action: canvas.Insertion) -> Graph:
    return apply_insertion(Document(graph), CATALOG, action)[0].graph


def test_what_an_operator_needs_comes_along() -> None:
    graph = added(JITTER, canvas.Add("permute_batch", "resize", sound=True))
    assert graph.node("permute_batch").inputs["indices"] == Port("batch_permutation", "output")
    assert check_graph(graph, CATALOG) == ()
    bare = added(JITTER, canvas.Add("permute_batch", "resize"))
    assert check_graph(bare, CATALOG)


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        (canvas.Add("rotate", ""), "nothing feeds it"),
        (canvas.AddTemplate("gamma"), "begin with a source"),
    ],
)
def test_on_an_empty_canvas_only_a_beginning_is_added(
    action: canvas.Insertion, reason: str
) -> None:
    assert reason in fault_of_insertion(Graph(), CATALOG, action)
    graph = added(Graph(), canvas.Add("readers.file", "", sound=True))
    assert [node.op for node in graph.nodes] == ["readers.file"]


def test_what_would_be_a_fault_further_on_is_refused() -> None:
    action = canvas.Add("crop_mirror_normalize", "resize", sound=True)
    with pytest.raises(GraphEditError, match="crop_mirror_normalize does not fit there: rotate"):
        added(JITTER, action)
    assert "rotate.data: it takes HWC" in fault_of_insertion(JITTER, CATALOG, action)
    assert fault_of_insertion(JITTER, CATALOG, canvas.Add("crop_mirror_normalize", "flip")) == ""


def test_faults_that_are_there_already_refuse_nothing() -> None:
    broken = JITTER.replace_node(JITTER.node("flip").__class__("flip", "flip"))
    assert check_graph(broken, CATALOG)
    assert fault_of_insertion(broken, CATALOG, canvas.Add("hue", "resize")) == ""


@pytest.mark.parametrize(
    "action",
    [
        canvas.AddTemplate("gamma", after="resize"),
        canvas.AddTemplate("gamma", edge="rotate:data"),
        canvas.AddTemplate("gamma"),
    ],
)
def test_a_template_goes_where_an_operator_goes(action: canvas.AddTemplate) -> None:
    document, selected = apply_insertion(Document(JITTER), CATALOG, action)
    assert selected == ["gamma"]
    assert document.graph.consumers("gamma") or Port("gamma", "output") in (
        *document.graph.outputs.values(),
    )
    assert check_graph(document.graph, CATALOG) == ()


def test_a_branch_leaves_what_is_there() -> None:
    action = canvas.AddTemplate("gamma", node="resize", output="output")
    assert added(JITTER, action).outputs == JITTER.outputs


def test_an_unknown_template_is_named() -> None:
    with pytest.raises(CatalogError, match="'gama' is no template"):
        added(JITTER, canvas.AddTemplate("gama"))


@given(CHAINS, st.data())
@examples(15)
def test_whatever_is_added_soundly_brings_no_fault(graph: Graph, data: st.DataObject) -> None:
    before = check_graph(graph, CATALOG)
    name = data.draw(st.sampled_from(NAMES))
    edges = [f"{edge.target}:{edge.input}" for edge in graph.edges]
    edge = data.draw(st.sampled_from([*edges, *(f":{output}" for output in graph.outputs)]))
    after = data.draw(st.sampled_from(["", *(node.id for node in graph.nodes)]))
    if name in CATALOG:
        actions: list[canvas.Insertion] = [
            canvas.Add(name, after, sound=True),
            canvas.AddOnEdge(name, edge, sound=True),
        ]
    else:
        actions = [
            canvas.AddTemplate(name, after=after, sound=True),
            canvas.AddTemplate(name, edge=edge, sound=True),
        ]
    for action in actions:
        refused = fault_of_insertion(graph, CATALOG, action)
        try:
            made = added(graph, action)
        except GraphEditError:
            assert refused
        else:
            assert not refused
            assert len(check_graph(made, CATALOG)) <= len(before)


def test_an_input_is_fed_by_what_is_added_before_it() -> None:
    graph = added(JITTER, canvas.AddFeeding("gaussian_blur", "rotate", "data", sound=True))
    assert graph.node("rotate").inputs["data"] == Port("gaussian_blur", "output")
    assert graph.node("gaussian_blur").inputs["data"] == Port("resize", "output")
    loose = added(JITTER, canvas.Branch("gaussian_blur", "", ""))
    fed = added(loose, canvas.AddFeeding("decoders.image", "gaussian_blur", "data"))
    assert fed.node("gaussian_blur").inputs["data"] == Port("decode_2", "output")
    with pytest.raises(GraphEditError, match=r"cannot feed gaussian_blur\.data"):
        added(loose, canvas.AddFeeding("random.uniform", "gaussian_blur", "data"))


def test_mixed_labels_have_as_many_classes_as_the_data(ready: tuple[ViewModel, Screen]) -> None:
    model, screen = ready
    screen.wait(lambda s: len(s["data", "summary"]["classes"]) >= 8, "the classes")
    model.act("canvas", {"do": "add_template", "template": "mixup", "after": "resize"})
    node = next(node for node in model.graph.nodes if node.op == "follow_labels")
    assert node.args["num_classes"] == len(screen["data", "summary"]["classes"])
