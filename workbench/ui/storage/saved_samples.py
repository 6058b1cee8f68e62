"""Save, replay and delete samples in the graph's file."""

from __future__ import annotations

from dataclasses import replace

from workbench.errors import GraphEditError
from workbench.graph.edits.edit import set_setting
from workbench.graph.storage.layout import MOST_SAVED, Document, SavedSample
from workbench.preview import PreviewResult
from workbench.ui.contract.preview_payloads import SavedSampleEntry
from workbench.ui.state.closeup import CloseupSample
from workbench.ui.state.view_state import MOST_BATCH, ViewState


def save_sample(document: Document, state: ViewState, sample: int | None) -> Document:
    """Save a sample of the current batch in the document; None saves the whole batch."""
    draw = _shown(document, state, sample)
    if any(replace(saved, note="") == draw for saved in document.draws):
        raise GraphEditError("This sample is already saved.")
    if len(document.draws) >= MOST_SAVED:
        raise GraphEditError(f"{MOST_SAVED} samples are saved. Remove one first.")
    return replace(
        document, draws=(*document.draws, replace(draw, note=_file(state.preview, draw)))
    )


def delete_sample(document: Document, number: int) -> Document:
    """Return the document without saved sample ``number``."""
    gone = _saved(document, number)
    return replace(document, draws=tuple(draw for draw in document.draws if draw is not gone))


def replay_sample(document: Document, state: ViewState, number: int) -> Document:
    """Show a saved sample: set its seed, batch size, batch, and index if it has one.

    Return the document with this seed and batch size.
    """
    draw = _saved(document, number)
    if draw.repeat is not None and draw.repeat >= draw.batch_size:
        raise GraphEditError(
            f"The saved sample repeats photo {draw.repeat}, but its batch has only photos 0 to "
            f"{draw.batch_size - 1}. Remove it, or correct its photo number in the file."
        )
    if draw.batch > MOST_BATCH:
        raise GraphEditError(
            f"The saved sample is in batch {draw.batch}, but only batches 0 to {MOST_BATCH} can be "
            "shown. Remove it, or correct its batch number in the file."
        )
    before = document.graph.settings.seed, state.batch
    if state.pinned and before != (draw.seed, draw.batch):
        raise GraphEditError("Seed and batch are pinned. Unpin them to show the saved sample.")
    state.batch = draw.batch
    state.repeat = -1 if draw.repeat is None else draw.repeat
    state.closeup = None
    if draw.sample is not None:
        state.show(draw.sample)
        state.closeup = CloseupSample(draw.sample, "")
    graph = set_setting(document.graph, seed=draw.seed, batch_size=draw.batch_size)
    return document.with_graph(graph)


def saved_sample_entries(
    document: Document, batch: int, repeated: int | None, preview: PreviewResult | None
) -> list[SavedSampleEntry]:
    """Return payloads of the saved samples.

    ``shown`` is True if the seed, the batch and the repeated photo are the current ones. If the
    current dataset has a different file at this place, the note also names that file.
    """
    on_screen = _draw(document, batch, repeated, None)

    def entry(draw: SavedSample) -> SavedSampleEntry:
        shown = replace(draw, note="", sample=None) == on_screen
        file = _file(preview, draw) if shown and draw.note else ""
        same = file in draw.note or file.startswith(draw.note)  # long notes are cut
        other = "" if same else f" (these data have {file} here)"
        whole = draw.sample is None
        return {"text": _label(draw), "note": draw.note + other, "whole": whole, "shown": shown}

    return [entry(draw) for draw in document.draws]


def _shown(document: Document, state: ViewState, sample: int | None) -> SavedSample:
    repeated = state.repeated(document.graph.settings.batch_size)
    return _draw(document, state.batch, repeated, sample)


def _draw(document: Document, batch: int, repeated: int | None, sample: int | None) -> SavedSample:
    settings = document.graph.settings
    return SavedSample(settings.seed, batch, settings.batch_size, sample, repeated)


def _file(preview: PreviewResult | None, draw: SavedSample) -> str:
    """Return the file of a saved sample, or of the photo that is repeated in its batch."""
    tiles = preview.tiles if preview else ()
    everywhere = None if draw.repeat is None else 0
    place = everywhere if draw.sample is None else draw.sample
    found = [tile.sample.file for tile in tiles if tile.index == place]
    return found[0] if found else ""


def _label(draw: SavedSample) -> str:
    parts = [f"seed {draw.seed}", f"batch {draw.batch} (size {draw.batch_size})"]
    if draw.sample is not None:
        parts.append(f"sample {draw.sample}")
    if draw.repeat is not None:
        parts.append("one photo")
    return ", ".join(parts)


def _saved(document: Document, number: int) -> SavedSample:
    if not 0 <= number < len(document.draws):
        raise GraphEditError(f"There is no saved sample {number}; {len(document.draws)} are saved.")
    return document.draws[number]
