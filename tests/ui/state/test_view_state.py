"""What is known of a graph before it runs, and of an error after it."""

from workbench.catalog import load_catalog
from workbench.errors import WorkbenchError
from workbench.graph import load_recipe
from workbench.graph.edits.edit import set_arg
from workbench.ui.state.view_state import failure_of, shuffles_files


def test_a_message_that_ends_a_sentence_gets_no_second_full_stop() -> None:
    assert str(failure_of(WorkbenchError("There is no folder.")).faults[0]) == "There is no folder."


def test_another_seed_means_other_photos_where_a_reader_shuffles() -> None:
    graph = load_recipe("rotate-jitter")
    assert shuffles_files(graph)
    assert not shuffles_files(set_arg(graph, load_catalog(), "reader", "random_shuffle", False))
    assert not shuffles_files(load_recipe("imagenet-eval"))


def test_any_error_that_names_its_node_is_shown_there() -> None:
    class NamedError(WorkbenchError):
        node = "rotate"

    fault = failure_of(NamedError("rotate: it is too late.")).faults[0]
    assert (fault.node, fault.message) == ("rotate", "it is too late")
    assert failure_of(WorkbenchError("too late")).faults[0].node == ""
