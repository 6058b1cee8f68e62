from __future__ import annotations

import pytest

from workbench.catalog import Catalog
from workbench.catalog.prose import first_sentence, plain_text


@pytest.mark.parametrize(
    ("rst", "text"),
    [
        ("Rotates `image` by ``angle``.", "Rotates image by angle."),
        ("See :meth:`nvidia.dali.fn.rotate`.", "See nvidia.dali.fn.rotate."),
        ("Use :func:`per-frame<nvidia.dali.fn.per_frame>` inputs.", "Use per-frame inputs."),
        ("A `paper <https://example.org>`_ says.", "A paper says."),
        ("Applies **only** to *volumes*.", "Applies only to volumes."),
        ('``["*.jpg", "*.png"]``', '["*.jpg", "*.png"]'),
        ("Two\nlines.\n\nTwo paragraphs.", "Two lines.\n\nTwo paragraphs."),
        (".. note::\n  Mind\n  this.", "Note: \nMind this.".replace("\n", "")),
        ("* | ``a`` - one,\n  | more\n* b", "• a - one, more\n• b"),
        ("1. one\n2. two", "1. one\n2. two"),
        (
            "The formula::\n\n  a = b\n      + c\n\nEnd.",
            "The formula:\n\n  a = b\n      + c\n\nEnd.",
        ),
        (".. math:: x + y", "x + y"),
        ("A table\n\n.. list-table::\n   :header-rows: 0\n\n   * - R\n\nEnd.", "A table\n\nEnd."),
    ],
)
def test_plain_text(rst: str, text: str) -> None:
    assert plain_text(rst) == text


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Rotates. And more.", "Rotates."),
        ("Crops, e.g. at random, an image.\n\nMore.", "Crops, e.g. at random, an image."),
        ("Uses this formula:\n\n  a = b", "Uses this formula"),
        ("Version 1.5 of it.", "Version 1.5 of it."),
        ("no full stop", "no full stop"),
        ("", ""),
    ],
)
def test_first_sentence(text: str, sentence: str) -> None:
    assert first_sentence(text) == sentence


def test_no_markup_is_left_in_what_the_inspector_shows(catalog: Catalog) -> None:
    for op in catalog.values():
        if op.unusable is None:
            for text in (op.doc, op.summary, *(arg.doc for arg in op.args.values())):
                text = text.replace("std::", "")  # a name in C++, no markup
                for mark in ("``", ":meth:", ":func:", ":ref:", ".. ", "::"):
                    assert mark not in text, f"{op.name}: {mark!r} is left in {text!r}"


def test_every_operator_has_a_summary_of_one_line(catalog: Catalog) -> None:
    for op in catalog.values():
        assert op.summary, op.name
        assert "\n" not in op.summary, op.name
