"""The close-up while two graphs are compared: the other graph's picture of the same sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from workbench.catalog.spec import Catalog
from workbench.errors import GraphError
from workbench.graph.types.devices import image_outputs
from workbench.preview import Picture, PreviewRequest, preview_picture
from workbench.ui.jobs.background_results import BackgroundResults
from workbench.ui.preview.background_previews import closeup_request
from workbench.ui.state.closeup import CloseupSample, closeup_bytes

_NAME = "compared_closeup"


@dataclass(slots=True)
class ComparedCloseup:
    """Every method is called with the lock held."""

    background: BackgroundResults
    catalog: Catalog
    picture: bytes = b""
    """A ``CloseupHeader``, whose ``of`` is the present graph's output, and the PNG."""

    def follow(
        self,
        look: CloseupSample | None,
        request: PreviewRequest,
        other: PreviewRequest,
        file: str,
    ) -> None:
        """Have the counterpart of ``look``, which shows ``file``, rendered."""
        if look is None or look.of == "original":
            self.clear()
            return
        of = counterpart(
            list(image_outputs(request.graph, self.catalog)),
            list(image_outputs(other.graph, self.catalog)),
            look.of,
        )
        key = other, look, of
        if of is None:
            self.background.forget(_NAME)
            reason = f"The other graph has no picture to compare {look.of!r} with."
            self.picture = closeup_bytes(look, [], GraphError(reason))
            return

        def painted(outcome: Any) -> None:
            if isinstance(outcome, Picture) and outcome.sample.file != file:
                outcome = replace(outcome, note=f"another photo: {outcome.sample.file}")
            self.picture = closeup_bytes(look, [], outcome)

        run = partial(
            preview_picture,
            request=closeup_request(other),
            index=look.index,
            of=of,
            frame=look.frame,
        )
        self.background.ask(_NAME, key, run, painted)

    def clear(self) -> None:
        """Nothing is looked at closely."""
        self.background.forget(_NAME)
        self.picture = b""


def counterpart(ours: Sequence[str], theirs: Sequence[str], of: str) -> str | None:
    """The output to compare ``of`` with: that of its name; where none are alike, of its place."""
    if set(ours) & set(theirs):
        return of if of in theirs else None
    place = ours.index(of)
    return theirs[place] if place < len(theirs) else None
