from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

from workbench.graph import load_recipe
from workbench.ui.notebook.node_completion import register


@pytest.fixture(scope="module")
def shell() -> Iterator[Any]:
    made = InteractiveShell.instance()
    register(made)
    register(made)
    graph = load_recipe("rotate-jitter")
    made.user_ns |= {"g": graph, "w": SimpleNamespace(graph=graph), "other": 3}
    yield made
    InteractiveShell.clear_instance()


def completed(shell: Any, text: str) -> list[str]:
    """What stands after a completion has been taken."""
    with provisionalcompleter():
        found = list(shell.Completer.completions(text, len(text)))
    return [text[: each.start] + each.text for each in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('g["rotate"].an', 'g["rotate"].angle'),
        ("w['rotate'].an", "w['rotate'].angle"),
        ('w["rotate"].fill', 'w["rotate"].fill_value'),
        ('x = w["rotate"].keep', 'x = w["rotate"].keep_size'),
    ],
)
def test_arguments_of_a_node_complete(shell: Any, text: str, expected: str) -> None:
    assert completed(shell, text).count(expected) == 1


@pytest.mark.parametrize("text", ['g["rotat"].an', 'other["rotate"].an', 'nothing["rotate"].an'])
def test_what_is_no_node_completes_nothing(shell: Any, text: str) -> None:
    assert f"{text}gle" not in completed(shell, text)


def test_an_older_shell_is_left_as_it_is(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Colab's IPython 7 has no such matchers."""
    monkeypatch.delattr("IPython.core.completer.context_matcher")
    old = SimpleNamespace()
    register(old)
    assert vars(old) == {}
