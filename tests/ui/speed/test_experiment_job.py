"""A measurement belongs to the server: it waits for others, and outlives the page that began it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ui.speed.conftest import Bed, Fake

OWNER = "a tab"


@pytest.fixture
def other(fake: Fake, photos: Path, tmp_path: Path) -> Iterator[Bed]:
    """The panel of another page."""
    made = Bed(str(photos), tmp_path / "records")
    yield made
    made.speed.cancel()


def leave(bed: Bed) -> None:
    with bed._condition:
        bed.speed.leave()


def own(bed: Bed, owner: str = OWNER) -> None:
    with bed._condition:
        bed.speed.own(owner)


def hold(bed: Bed, fake: Fake) -> None:
    fake.hold = True
    bed.do("measure", what="compare")
    assert fake.holding.wait(30)
    fake.hold = False


def test_a_second_session_waits_and_says_so(bed: Bed, other: Bed, fake: Fake) -> None:
    hold(bed, fake)
    other.do("measure", what="compare")
    other.wait(lambda bed: bed["message"] == "waits for another measurement", "the wait")
    assert other["running"]
    bed.do("cancel")
    other.wait(lambda bed: not bed["running"], "the end")
    assert other["compare"] != {}


def test_one_that_waits_is_cancelled(bed: Bed, other: Bed, fake: Fake) -> None:
    hold(bed, fake)
    other.do("measure", what="compare")
    other.do("cancel")
    other.wait(lambda bed: not bed["running"], "the end")
    assert other["message"] == "Cancelled."
    assert bed["running"]


@pytest.mark.parametrize("first", ["leave", "come"])
def test_the_next_page_finds_it(bed: Bed, other: Bed, fake: Fake, first: str) -> None:
    """The page before may close after the next one has come."""
    own(bed)
    hold(bed, fake)
    if first == "leave":
        leave(bed)
        own(other)
    else:
        own(other)
        leave(bed)
    assert (other["running"], other["what"], other["progress"]) == (True, "compare", 0.5)
    other.do("cancel")
    other.wait(lambda bed: not bed["running"], "the end")
    assert not bed["running"]


def test_what_has_ended_meanwhile_is_found(bed: Bed, other: Bed, fake: Fake) -> None:
    own(bed)
    hold(bed, fake)
    bed.do("cancel")
    bed.wait(lambda bed: not bed["running"], "the end")
    fake.holding.clear()
    with bed._condition:  # it cannot end before the page has left
        bed.do("measure", what="compare")
        run = bed.speed.run
        assert run is not None
        bed.speed.leave()
    run._thread.join(30)
    assert run.outcome is not None
    assert len(list((bed.speed.store.folder or Path()).glob("*.json"))) == 2, (
        "and what the first had"
    )
    own(other)
    other.wait(lambda bed: not bed["running"], "the end")
    assert other["compare"] != {}
    assert len(other.speed.store.records) == 2


def test_nobody_else_finds_it(bed: Bed, other: Bed, fake: Fake) -> None:
    own(bed)
    hold(bed, fake)
    leave(bed)
    own(other, "another tab")
    assert not other["running"]
    own(other)
    assert other["running"]


def test_without_a_session_it_ends_with_its_page(bed: Bed, fake: Fake) -> None:
    hold(bed, fake)
    run = bed.speed.run
    assert run is not None
    leave(bed)
    run._thread.join(30)
    assert not run._thread.is_alive()
