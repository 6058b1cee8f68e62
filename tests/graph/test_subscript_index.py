from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.graph.model.subscript_index import Index, index_text, parse_index

_ENDS = st.none() | st.integers(-12, 12)
_RANGES = st.builds(slice, _ENDS, _ENDS, _ENDS.filter(lambda step: step != 0))
INDICES = st.lists(st.integers(-3, 3) | _RANGES, min_size=1, max_size=5).map(tuple)


@given(INDICES)
def test_a_text_is_read_as_it_was_written(index: Index) -> None:
    text = index_text(index)
    assert parse_index(text) == index
    assert index_text(parse_index(f" {text} ".replace(",", " ,"))) == text


@given(INDICES)
def test_the_text_means_the_same_to_python(index: Index) -> None:
    array = np.zeros((8, 8, 8, 8, 8))
    assert eval(f"array[{index_text(index)}]").shape == array[index].shape  # type: ignore[index]


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("0", (0,)),
        ("0,", (0,)),
        (":", (slice(None),)),
        (":, 3:9", (slice(None), slice(3, 9))),
        ("::-1", (slice(None, None, -1),)),
        (" -2 : ,+1", (slice(-2, None), 1)),
    ],
)
def test_what_is_taken(text: str, index: Index) -> None:
    assert parse_index(text) == index


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "'' is no place or range"),
        ("...", "write a : for each axis"),
        ("::0", "a step of 0"),
        ("1:2:3:4", "no place or range"),
        ("a", "no place or range"),
        ("0]; import os", "no place or range"),
        ("1e3", "no place or range"),
        ("0x10", "no place or range"),
        ("1, , 2", "no place or range"),
        ("9" * 40, "no place or range"),
        ("0," * 17, "17 parts"),
    ],
)
def test_what_is_refused(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words.replace("(", r"\(")):
        parse_index(text)


@given(
    st.from_regex(r"(-?\d{0,3}:?){1,3}(, ?(-?\d{0,3}:?){1,3}){0,3}", fullmatch=True)
    | st.text(alphabet="0123456789:,+- []()_.e;\n", max_size=30)
)
def test_only_numbers_become_code(text: str) -> None:
    try:
        made = index_text(parse_index(text))
    except ValueError:
        return
    assert set(made) <= set("0123456789:, -")
