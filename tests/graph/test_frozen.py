from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest

from workbench.graph import load_recipe
from workbench.graph.model.frozen import FrozenDict, frozen

CHANGES = {
    "set": lambda mapping: mapping.__setitem__("fill_value", 255),
    "delete": lambda mapping: mapping.__delitem__("angle"),
    "update": lambda mapping: mapping.update(angle=1),
    "merge": lambda mapping: mapping.__ior__({"angle": 1}),
    "pop": lambda mapping: mapping.pop("angle"),
    "popitem": lambda mapping: mapping.popitem(),
    "clear": lambda mapping: mapping.clear(),
    "setdefault": lambda mapping: mapping.setdefault("other", 1),
}


@pytest.mark.parametrize("change", CHANGES)
def test_no_mapping_of_a_graph_can_be_changed(change: str) -> None:
    """Finding A6: it succeeded, and spoilt the recipe for whoever asked for it next."""
    graph = load_recipe("rotate-jitter")
    before = copy.deepcopy(graph)
    node: Any = graph.node("rotate")
    for mapping in (node.args, node.inputs, node.bodies, graph.outputs):
        with pytest.raises(TypeError, match="cannot be changed in place"):
            CHANGES[change](mapping)
    assert graph == before == load_recipe("rotate-jitter")


def test_lists_become_tuples_at_every_depth() -> None:
    given: dict[str, Any] = {"matrix": [[1, 2], [3, [4]]]}
    kept = frozen(given)
    given["matrix"][0].append(5)
    assert kept["matrix"] == ((1, 2), (3, (4,)))


def test_it_is_copied_pickled_and_written_as_a_dict_is() -> None:
    kept = FrozenDict({"a": 1})
    assert copy.copy(kept) == copy.deepcopy(kept) == pickle.loads(pickle.dumps(kept)) == kept
    assert type(pickle.loads(pickle.dumps(kept))) is FrozenDict
    assert json.dumps(kept) == '{"a": 1}'
    assert {**kept, "b": 2} == {"a": 1, "b": 2}
