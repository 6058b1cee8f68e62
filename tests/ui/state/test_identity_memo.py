"""Values are computed again only for other objects."""

from __future__ import annotations

from workbench.ui.state.identity_memo import IdentityMemo


def test_the_same_objects_give_the_same_value() -> None:
    calls: list[object] = []

    def length(items: list[int], more: list[int]) -> list[int]:
        calls.append(items)
        return [*items, *more]

    memo, first, second = IdentityMemo(), [1], [2]
    value = memo(length, first, second)
    assert memo(length, first, second) is value
    assert calls == [first]
    assert memo(length, first, [2]) == value  # equal is not the same
    assert len(calls) == 2


def test_each_function_has_a_value_of_its_own() -> None:
    memo, items = IdentityMemo(), [2, 1]
    assert (memo(sorted, items), memo(len, items)) == ([1, 2], 2)
    assert memo(sorted, items) is memo(sorted, items)
