"""Keeping a draw and showing it again."""

from dataclasses import replace

import pytest

from workbench.catalog import load_catalog
from workbench.engine.reading.undecodable_samples import Sample
from workbench.engine.resources.machine import describe_machine
from workbench.errors import GraphEditError
from workbench.graph import load_recipe
from workbench.graph.edits.edit import set_setting
from workbench.graph.storage.layout import MOST_SAVED, Document, SavedSample
from workbench.preview import PreviewResult, Tile
from workbench.ui.contract.preview_payloads import SavedSampleEntry
from workbench.ui.state.closeup import CloseupSample
from workbench.ui.state.view_state import ViewState, check_before_run
from workbench.ui.storage.saved_samples import (
    delete_sample,
    replay_sample,
    save_sample,
    saved_sample_entries,
)


@pytest.fixture
def state() -> ViewState:
    return ViewState(
        check_before_run(load_recipe("rotate-jitter"), load_catalog(), describe_machine())
    )


def entries(document: Document, state: ViewState) -> list[SavedSampleEntry]:
    repeated = state.repeated(document.graph.settings.batch_size)
    return saved_sample_entries(document, state.batch, repeated, state.preview)


def test_a_batch_is_kept_and_replayed(state: ViewState) -> None:
    document = Document(set_setting(load_recipe("rotate-jitter"), batch_size=8, seed=5))
    state.batch = 3
    kept = save_sample(document, state, None)
    assert kept.draws == (SavedSample(5, 3, 8),)
    assert entries(kept, state) == [
        {"text": "seed 5, batch 3 (size 8)", "note": "", "whole": True, "shown": True}
    ]
    with pytest.raises(GraphEditError, match="already saved"):
        save_sample(kept, state, None)

    state.batch = 0
    elsewhere = kept.with_graph(set_setting(kept.graph, batch_size=16, seed=9))
    assert elsewhere.draws == kept.draws
    assert not entries(elsewhere, state)[0]["shown"]
    back = replay_sample(elsewhere, state, 0)
    assert (back.graph.settings.seed, back.graph.settings.batch_size) == (5, 8)
    assert state.batch == 3
    assert entries(back, state)[0]["shown"]
    assert delete_sample(back, 0).draws == ()


def test_one_sample_is_kept_and_looked_at_closely(state: ViewState) -> None:
    document = Document(load_recipe("rotate-jitter"))
    state.repeat = 2
    kept = save_sample(document, state, 20)
    state.repeat = -1
    state.tiles = 8
    replay_sample(kept, state, 0)
    assert (state.repeat, state.tiles, state.closeup) == (2, 21, CloseupSample(20, ""))
    assert entries(kept, state)[0]["text"] == "seed 42, batch 0 (size 64), sample 20, one photo"


def test_the_note_names_the_photo_that_was_shown(state: ViewState) -> None:
    document = Document(load_recipe("rotate-jitter"))
    tiles = [Tile(n, Sample(f"{n}.jpg"), "", "", (), None, ()) for n in range(4)]
    state.preview = PreviewResult(b"", "", (0, 0), tuple(tiles), (), "", 0, {}, (), 1.0)
    (draw,) = save_sample(document, state, 3).draws
    assert draw.note == "3.jpg"
    assert not entries(replace(document, draws=(draw,)), state)[0]["whole"]
    state.repeat = 40
    (draw,) = save_sample(document, state, None).draws
    assert (draw.repeat, draw.note) == (40, "0.jpg")
    # A batch that has no such place is shown as it is.
    few = document.with_graph(set_setting(document.graph, batch_size=16))
    (draw,) = save_sample(few, state, None).draws
    assert (draw.repeat, draw.note) == (None, "")


def shown_files(*files: str) -> PreviewResult:
    tiles = [Tile(n, Sample(file), "", "", (), None, ()) for n, file in enumerate(files)]
    return PreviewResult(b"", "", (0, 0), tuple(tiles), (), "", 0, {}, (), 1.0)


@pytest.mark.parametrize(("sample", "repeat"), [(1, -1), (None, 0)])
def test_a_draw_of_other_data_names_the_photo_that_is_shown_instead(
    state: ViewState, sample: int | None, repeat: int
) -> None:
    document = Document(load_recipe("rotate-jitter"))
    state.preview, state.repeat = shown_files("cat/1.jpg", "cat/1.jpg"), repeat
    kept = save_sample(document, state, sample)
    assert entries(kept, state)[0]["note"] == "cat/1.jpg"
    state.preview = shown_files("dog/7.jpg", "dog/7.jpg")
    assert entries(kept, state)[0]["note"] == "cat/1.jpg (these data have dog/7.jpg here)"
    state.batch = 1  # another batch is on the screen: nothing is known about this draw's photo
    assert entries(kept, state)[0]["note"] == "cat/1.jpg"


def test_a_photo_at_a_place_that_no_batch_has_is_not_replayed(state: ViewState) -> None:
    document = Document(load_recipe("rotate-jitter"), draws=(SavedSample(5, 0, 4, repeat=4),))
    with pytest.raises(GraphEditError, match="but its batch has only photos 0 to 3"):
        replay_sample(document, state, 0)
    assert (state.repeat, state.closeup) == (-1, None)


def test_there_is_an_end_to_it(state: ViewState) -> None:
    document = Document(load_recipe("simclr"))
    with pytest.raises(GraphEditError, match="There is no saved sample 0; 0 are saved"):
        delete_sample(document, 0)
    full = Document(document.graph, draws=tuple(SavedSample(n, 0, 4) for n in range(MOST_SAVED)))
    with pytest.raises(GraphEditError, match="100 samples are saved"):
        save_sample(full, state, None)


def test_a_batch_too_far_is_refused_with_the_remedy(state: ViewState) -> None:
    document = Document(state.checked.graph, draws=(SavedSample(1, 2**31 - 1, 64),))
    with pytest.raises(GraphEditError, match="0 to 999 can be shown"):
        replay_sample(document, state, 0)
    assert state.batch == 0


def test_pinned_draws_are_not_replaced(state: ViewState) -> None:
    state.pinned = True
    document = Document(
        state.checked.graph, draws=(SavedSample(42, 3, 64), SavedSample(42, 0, 64, 5))
    )
    with pytest.raises(GraphEditError, match="Unpin them to show the saved sample"):
        replay_sample(document, state, 0)
    assert state.batch == 0
    replay_sample(document, state, 1)  # of the draws that are there
    assert state.closeup == CloseupSample(5, "")
