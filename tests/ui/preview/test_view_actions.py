"""What the preview and the canvas may set."""

from typing import Any

import pytest

from workbench.catalog import load_catalog
from workbench.engine.resources.machine import describe_machine
from workbench.errors import GraphEditError
from workbench.graph import load_recipe
from workbench.graph.storage.layout import Document
from workbench.ui.app.view_actions import apply_view_action, set_view
from workbench.ui.contract.actions import panels, parse_action
from workbench.ui.contract.components import ACTIONS
from workbench.ui.state.closeup import CloseupSample
from workbench.ui.state.view_state import ViewState, baselines_of, check_before_run, request_of


def component_of(field: str) -> str:
    return "canvas" if field == "sample" else "preview"


@pytest.fixture
def state() -> ViewState:
    return ViewState(
        check_before_run(load_recipe("rotate-jitter"), load_catalog(), describe_machine())
    )


@pytest.mark.parametrize(
    ("field", "value", "held"),
    [
        ("mode", "difference", "difference"),
        ("tiles", 1000, 64),
        ("tiles", 1, 4),
        ("tile_size", 10_000, 512),
        ("tile_size", 0, 0),
        ("repeat", -7, -1),
        ("sample", -7, 0),
        ("lossless", True, True),
        ("baseline", "resize", "resize"),
    ],
)
def test_values_are_taken_within_their_limits(
    state: ViewState, field: str, value: Any, held: Any
) -> None:
    assert set_view(state, component_of(field), field, value)
    assert getattr(state, field) == held


@pytest.mark.parametrize(
    ("field", "value"),
    [("mode", "sideways"), ("tiles", True), ("lossless", 1), ("tiles", "4"), ("device", "cpu")],
)
def test_other_values_are_not(state: ViewState, field: str, value: Any) -> None:
    before = request_of(state, "data")
    assert not set_view(state, component_of(field), field, value)
    assert request_of(state, "data") == before


def test_a_photo_that_the_batch_lacks_is_refused(state: ViewState) -> None:
    with pytest.raises(GraphEditError, match="repeat 999: give a place of 0 to 63, or -1"):
        set_view(state, "preview", "repeat", 999)
    assert set_view(state, "preview", "repeat", 63)
    assert (state.repeated(64), state.repeated(63)) == (63, None)


def test_pinned_draws_stay(state: ViewState) -> None:
    state.batch = 2
    assert set_view(state, "preview", "pinned", True)
    for field in ("seed", "batch"):
        with pytest.raises(GraphEditError, match="pinned: unpin them"):
            set_view(state, component_of(field), field, 3)
    assert state.batch == 2
    assert set_view(state, "preview", "pinned", False)
    assert set_view(state, "preview", "batch", 3)
    assert not set_view(
        state, "preview", "seed", 3
    )  # an edit of the graph, and not of what is seen


def test_a_request_asks_only_for_what_there_is(state: ViewState) -> None:
    state.repeat, state.baseline, state.mode = 64, "resize", "difference"
    request = request_of(state, "data")
    assert (request.repeat, request.baseline) == (None, "")
    state.baselines = baselines_of(state.checked.running)
    assert state.baselines == ["decode", "resize", "rotate", "color"]
    assert request_of(state, "data").baseline == "resize"
    state.show_original, state.tile_size = True, 96
    request = request_of(state, "data")
    assert (request.shown, request.tile_size) == ("original", 96)


def test_actions(state: ViewState) -> None:
    document = Document(state.checked.graph)

    def act(do: str, **message: Any) -> Document:
        action = parse_action("preview", ACTIONS["preview"], {"do": do, **message})
        assert isinstance(action, panels.ViewAction)
        return apply_view_action(state, document, action)

    act("open_closeup", index=3, of="images")
    act("probe_pixel", x=7, y=9)
    assert (state.closeup, state.probe) == (CloseupSample(3, "images"), (7, 9))
    act("open_closeup", index=-1, of="")
    assert (state.closeup, state.probe) == (None, None)
    assert state.sample == 3, "what is looked at closely is on the cards too"
    act("choose_sample", index=2)
    assert (state.tab, state.sample) == ("preview", 2)
    kept = act("save_draw", sample=-1)
    assert len(kept.draws) == 1
