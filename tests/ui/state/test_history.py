from dataclasses import replace

from workbench.graph import Graph, Settings
from workbench.graph.storage.layout import Document
from workbench.ui.state.history import BURST, LIMIT, History


def named(name: str) -> Graph:
    return Graph(name=name)


def test_undo_and_redo_walk_the_same_steps() -> None:
    history = History(named("a"))
    for name in "bc":
        history.push(named(name))
    assert [history.undo() and history.now.name for _ in range(2)] == ["b", "a"]
    assert not history.undo()
    assert not history.can_undo
    assert [history.redo() and history.now.name for _ in range(2)] == ["b", "c"]
    assert not history.can_redo


def test_the_steps_of_one_drag_are_one_step() -> None:
    history = History(named("a"))
    for name in "bcd":
        history.push(named(name), "drag")
    history.push(named("e"), "another drag")
    history.undo()
    assert history.now.name == "d"
    history.undo()
    assert history.now.name == "a"


def test_a_drag_that_ends_where_it_began_is_no_step() -> None:
    history = History(named("a"))
    history.push(named("b"))
    for name in "cdb":
        history.push(named(name), "drag")
    history.undo()
    assert history.now.name == "a"
    history.redo()
    for name in "cbd":
        history.push(named(name), "drag")
    assert history.undo()
    assert history.now.name == "b", "what came after the return is a step"


def test_a_drag_after_an_undo_is_a_step_of_its_own() -> None:
    history = History(named("a"))
    history.push(named("b"), "drag")
    history.undo()
    history.push(named("c"), "drag")
    history.undo()
    assert history.now.name == "a"


def test_an_edit_after_an_undo_drops_what_was_undone() -> None:
    history = History(named("a"))
    history.push(named("b"))
    history.undo()
    history.push(named("c"))
    assert not history.can_redo


def test_an_edit_that_changes_nothing_is_no_step() -> None:
    history = History(named("a"))
    history.push(replace(history.now))
    assert not history.can_undo


def test_changes_of_one_setting_within_a_second_are_one_step() -> None:
    now = 0.0
    history = History(named("a"), clock=lambda: now)
    for name in "bc":
        history.push(named(name), history.burst("seed"))
    now = BURST + 0.1
    history.push(named("d"), history.burst("seed"))
    history.push(named("e"), history.burst("batch_size"))
    names = []
    while history.undo():
        names.append(history.now.name)
    assert names == ["d", "c", "a"]


def test_a_history_goes_on_where_another_ended() -> None:
    history = History(named("a"))
    for name in "bcd":
        history.push(named(name))
    history.undo()
    other = History(named("given"))
    other.restore(history.document, history.before, history.undone)
    assert other.now.name == "c"
    assert other.redo()
    assert other.now.name == "d"
    assert [other.undo() for _ in range(4)] == [True, True, True, False]
    assert other.now.name == "a"


def test_the_list_is_bounded() -> None:
    history = History(named("start"))
    for number in range(LIMIT + 10):
        history.push(named(f"n{number}"))
    steps = 0
    while history.undo():
        steps += 1
    assert steps == LIMIT


def test_a_step_may_take_what_is_seen_along() -> None:
    history = History(named("a"))
    history.push(named("b"))
    replayed = replace(history.document, graph=named("c"))
    history.push_document(replayed, views=((0, -1), (3, 2)))
    assert history.target(back=True) == (replace(replayed, graph=named("b")), (0, -1))
    assert history.undo()
    assert history.target(back=False) == (replayed, (3, 2))
    assert history.target(back=True) == (replace(replayed, graph=named("a")), None)
    assert history.redo()
    assert history.target(back=False) is None
    history.push_document(history.document, views=((3, 2), (4, 2)))
    assert history.target(back=True) == (replayed, (3, 2)), "a step though the graph is the same"


def test_what_was_opened_and_the_line_of_all_documents() -> None:
    history = History(named("a"))
    assert history.opened is history.document
    history.push(named("b"))
    assert (history.opened.graph.name, history.opens) == ("a", 0)
    history.open(Document(named("c")))
    assert (history.opened.graph.name, history.opens) == ("c", 1)
    history.exchange(history.document.with_graph(named("c reads other data")))
    history.push(named("d"))
    assert history.opened.graph.name == "c reads other data"
    names = ["a", "b", "c reads other data", "d"]
    assert [each.graph.name for each in history.line] == names
    history.undo()
    history.undo()
    assert (history.opened.graph.name, history.opens) == ("a", 0)
    assert [each.graph.name for each in history.line] == names
    history.redo()
    assert (history.opened.graph.name, history.opens) == ("c reads other data", 1)
    history.undo()
    history.open(Document(named("e")))
    assert history.opens == 2


def test_a_step_may_be_named_by_what_made_it() -> None:
    history = History(named("a"))
    history.push_document(replace(history.document, graph=named("b")), label="align left")
    assert history.undo_label == "align left"
    history.undo()
    assert history.redo_label == "align left"


def test_what_other_data_make_of_a_graph_hides_no_label() -> None:
    history = History(named("a"))
    history.push(replace(named("a"), settings=Settings(seed=1)))
    history.exchange(history.document.with_graph(named("a, of other data")))
    assert history.undo_label == "seed to 1"
    history.undo()
    assert history.redo_label == "seed to 1"
    history.exchange(history.document.with_graph(named("a, of other data")))
    assert history.labels(10) == ["seed to 1"]
    history.redo()
    assert history.undo_label == "seed to 1"


def test_a_graph_that_is_opened_is_named_though_it_has_the_same_nodes() -> None:
    history = History(named("a"))
    history.open(Document(replace(named("a"), settings=Settings(seed=1))))
    assert history.undo_label == "open a"
    history.open(Document(named("a")), "start afresh")
    assert history.undo_label == "start afresh"
