"""What is left to ``make test-all``, and the parts in which CI takes it."""

from __future__ import annotations

from argparse import ArgumentTypeError

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import in_share, share
from tests.thorough import EXAMPLES, SOAK_EXAMPLES, THOROUGH_EXAMPLES, examples, one_in


@given(st.text(), st.integers(1, 9))
def test_a_test_is_in_one_share(name: str, parts: int) -> None:
    assert sum(in_share(name, part, parts) for part in range(1, parts + 1)) == 1


def test_a_share_is_two_numbers() -> None:
    assert share("3/7") == (3, 7)
    for text in ("0/7", "8/7", "3", "a/b"):
        with pytest.raises(ArgumentTypeError, match=text):
            share(text)


def test_all_but_every_third_case_is_thorough() -> None:
    made = one_in(3, ["a", "b", "c", "d"])
    assert (made[0], made[3]) == ("a", "d")
    assert [[mark.name for mark in case.marks] for case in made[1:3]] == [["thorough"]] * 2
    assert one_in(2, [(1, 2), (3, 4)])[1].values == (3, 4)


def test_examples_grow_with_the_profile() -> None:
    quick, many = {
        EXAMPLES: (10, 10),
        THOROUGH_EXAMPLES: (200, 40),
        SOAK_EXAMPLES: (2000, 400),
    }[settings().max_examples]
    assert examples(10).max_examples == quick
    assert examples(10, thorough=40).max_examples == many


@pytest.mark.xdist_group("grouped")
def test_what_is_grouped_runs_in_one_worker(request: pytest.FixtureRequest) -> None:
    if not request.config.getoption("loadgroup", False):
        pytest.skip("the tests run in one process: pytest -n 2 --dist loadgroup")
    assert request.node.nodeid.endswith("@grouped")
