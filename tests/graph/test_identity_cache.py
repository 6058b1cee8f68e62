from __future__ import annotations

from dataclasses import replace

from workbench.graph import load_recipe
from workbench.graph.model import Graph
from workbench.graph.model.identity_cache import identity_cached


def test_an_answer_is_kept_for_the_thing_itself_and_no_other() -> None:
    asked: list[Graph] = []

    @identity_cached
    def ask(graph: Graph, word: str = "") -> str:
        asked.append(graph)
        return graph.name + word

    graph = load_recipe("rotate-jitter")
    equal = replace(graph)
    assert ask(graph) == ask(graph) == graph.name
    assert len(asked) == 1
    assert ask(equal) == graph.name
    assert asked[-1] is equal, "an equal graph is asked about anew: to compare would take as long"
    assert ask(graph, "!") == graph.name + "!"
    assert ask(graph, word="?") == graph.name + "?"
    assert ask(graph) == graph.name


def test_few_answers_are_kept() -> None:
    count = 0

    @identity_cached
    def ask(graph: Graph) -> int:
        nonlocal count
        count += 1
        return count

    graphs = [replace(load_recipe("rotate-jitter"), name=str(n)) for n in range(20)]
    assert [ask(graph) for graph in graphs] == list(range(1, 21))
    assert ask(graphs[-1]) == 20
    assert ask(graphs[0]) == 21


def test_an_option_is_known_by_its_name() -> None:
    @identity_cached
    def ask(graph: Graph, before: str = "", after: str = "") -> str:
        return before + graph.name + after

    graph, word = load_recipe("rotate-jitter"), "!"
    assert ask(graph, before=word) == "!" + graph.name
    assert ask(graph, after=word) == graph.name + "!"
