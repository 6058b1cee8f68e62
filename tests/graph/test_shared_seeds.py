"""Two graphs on the same photos and draws."""

from dataclasses import replace

from hypothesis import given

from tests.helpers import GRAPHS
from workbench.catalog import load_catalog
from workbench.graph import Graph, load_recipe
from workbench.graph.edits.edit import insert_node, randomise_arg, set_setting
from workbench.graph.variants.shared_seeds import differing_random_nodes, with_seeds_of

CATALOG = load_catalog()
START = load_recipe("rotate-jitter")


@given(GRAPHS, GRAPHS)
def test_what_is_in_both_draws_the_same_and_nothing_else_draws_so(one: Graph, other: Graph) -> None:
    made = with_seeds_of(other, one)
    assert made.settings.seed == one.settings.seed
    assert made.settings.batch_size == one.settings.batch_size
    same = {n.id for n in made.walk() if one.has(n.id) and one.node(n.id).op == n.op}
    taken = {made.node(name).seed for name in same} - {None}
    for node in made.walk():
        if node.id in same:
            assert node.seed == one.node(node.id).seed
        else:
            assert node.seed is None or node.seed not in taken
    assert {n.id: (n.op, n.args, n.inputs) for n in made.walk()} == {
        n.id: (n.op, n.args, n.inputs) for n in other.walk()
    }


def test_a_graph_with_the_same_seeds_stays_itself() -> None:
    assert with_seeds_of(START, START) is START
    other = set_setting(START, seed=3, batch_size=8)
    assert with_seeds_of(other, START) == START


def test_a_node_of_one_graph_alone_draws_apart() -> None:
    blurred, node = insert_node(START, CATALOG, "gaussian_blur", "rotate")
    assert differing_random_nodes(START, blurred, CATALOG) == ()
    drawn = randomise_arg(blurred, CATALOG, node, "sigma")
    (apart,) = differing_random_nodes(START, drawn, CATALOG)
    assert drawn.node(apart).op.startswith("random.")
    clash = START.replace_node(
        replace(START.node(START.node("rotate").inputs["angle"].node), seed=99)
    )
    assert with_seeds_of(drawn, clash).node(apart).seed != 99
