"""What a script's own calls give is read from its text."""

from __future__ import annotations

import ast

import pytest

from workbench.engine.assumed_values.written_calls import MISSING, written_value


def value(text: str, wanted: str = "crop") -> object:
    return written_value("Train", ["batch_size", "crop"], wanted, [ast.parse(text)])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Train(8, 96)", 96),
        ("if __name__ == '__main__':\n    pipe = Train(batch_size=8, crop=(64, 48))", (64, 48)),
        ("SIDE = 32\npipes.Train(crop=SIDE)", 32),
        ("def load(crop=160):\n    return Train(8, crop=crop)", 160),
        ("def load(crop):\n    return Train(8, crop)\n\nload(crop=80)", 80),
        ("def load(side):\n    def inner():\n        return Train(crop=side)\n\nload(24)", 24),
        ("Train(8, unknown)\nTrain(8, 72)", 72),
        ("SIDE = 32\nTrain(8, 2 * SIDE + 8)", 72),
    ],
)
def test_a_literal_is_followed_to_where_it_stands(text: str, expected: object) -> None:
    assert value(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Train(8)",
        "Other(8, 96)",
        "Train(8, args.crop)",
        "Train(8, 2 * unknown)",
        "Train(8, 'a' * 8)",
        "if big:\n    side = 299\nelse:\n    side = 224\nTrain(8, crop=side)",
        "def load(crop):\n    return Train(8, crop)",
        "def load(crop):\n    return load(crop), Train(8, crop)",
    ],
)
def test_what_is_no_one_literal_is_not_guessed(text: str) -> None:
    assert value(text) is MISSING


def test_values_of_variables_can_be_told() -> None:
    tree = ast.parse("for rank in range(n):\n    Train(8, 64 + 100 * rank)")
    assert written_value("Train", ["batch_size", "crop"], "crop", [tree]) is MISSING
    assert written_value("Train", ["batch_size", "crop"], "crop", [tree], {"rank": 0}) == 64
