"""Custom policies: stored, checked, fixed, and started from a learnt one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.helpers import chain_graph
from workbench.catalog import Value, load_catalog
from workbench.catalog.extra_operators.auto_augment import NAMED, POLICIES, learnt_policies
from workbench.errors import GraphEditError
from workbench.graph import Graph, check_graph
from workbench.graph.edits.edit import editable_policy
from workbench.graph.fixes import fixes
from workbench.graph.model.policy import (
    MOST_OPERATIONS,
    MOST_SUB_POLICIES,
    operations_of,
    policy_fault,
    repaired_policy,
)
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.storage.io import dump_graph, load_graph

CATALOG = load_catalog()
ONE = ("equalize", 0.5)


def with_policy(policy: Value, **more: Value) -> Graph:
    graph = chain_graph("resize", "apply_auto_augment")
    node = graph.node("apply_auto_augment")
    return graph.replace_node(replace(node, args={**node.args, "policy": policy, **more}))


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ("image_net", "not a list of sub-policies"),
        ((), "it has 0 sub-policies. Use 1 to 100"),
        (((ONE,),) * (MOST_SUB_POLICIES + 1), "it has 101 sub-policies"),
        (((ONE,), ()), "sub-policy 2 has 0 operations"),
        (((ONE,) * (MOST_OPERATIONS + 1),), "sub-policy 1 has 9 operations. Use 1 to 8"),
        (
            ((ONE, ("rotat", 0.5, 3)),),
            "sub-policy 1, operation 2: 'rotat' is not an augmentation. Did",
        ),
        (((("rotate", 1.5, 3),),), "the probability of rotate is 1.5. Use 0 to 1"),
        (((("rotate", True, 3),),), "the probability of rotate is True"),
        (((("rotate", 0.5),),), "the magnitude of rotate is missing. Use an integer from 0"),
        (
            ((("rotate", 0.5, 11),),),
            "the magnitude of rotate is 11. Use an integer from 0 to 10",
        ),
        (((("rotate", 0.5, 2.5),),), "the magnitude of rotate is 2.5"),
        (((("equalize", 0.5, 3),),), "equalize has no magnitude, but it is 3. Remove it"),
        ((("equalize", 0.5),), "it is not an augmentation with its probability"),
        ((3,), "sub-policy 1 is not a list of operations"),
    ],
)
def test_each_fault_is_told_and_can_be_mended(policy: Value, words: str) -> None:
    graph = with_policy(policy)
    (fault,) = (each for each in check_graph(graph, CATALOG) if each.arg == "policy")
    assert words in str(fault), str(fault)
    mended, reset = fixes(ResolvedGraph(graph, CATALOG), fault)
    for fix in (mended, reset):
        assert check_graph(fix.graph, CATALOG) == ()


def test_a_policy_is_plain_data_in_the_file() -> None:
    graph = with_policy(learnt_policies()["svhn"], num_magnitude_bins=12)
    assert load_graph(dump_graph(graph)) == graph
    assert check_graph(graph, CATALOG) == ()


def test_what_has_no_fault_is_not_mended() -> None:
    for policy in learnt_policies().values():
        assert policy_fault(policy, 11) is None
        assert repaired_policy(policy, 11) == policy
    (first, *_) = operations_of(learnt_policies()["image_net"])
    assert first == (("equalize", 0.8, None), ("shear_y", 0.8, 4))


@pytest.mark.parametrize("name", POLICIES)
def test_learnt_policies_are_those_of_dali(name: str) -> None:
    from nvidia.dali.auto_aug import augmentations, auto_augment

    policy = getattr(auto_augment, f"get_{name}_policy")()
    assert policy.num_magnitude_bins == 11
    given = [[(a.name, p, mag) for a, p, mag in sub] for sub in policy.sub_policies]
    assert [list(map(tuple, sub)) for sub in operations_of(learnt_policies()[name])] == given
    for known, takes in NAMED.items():
        assert (getattr(augmentations, known).mag_range is not None) == takes, known


def test_a_learnt_policy_becomes_ones_own() -> None:
    graph = chain_graph("resize", "auto_augment", auto_augment={"policy_name": "svhn"})
    graph = editable_policy(graph, "auto_augment")
    node = graph.node("auto_augment")
    assert (node.op, node.args["policy"]) == ("apply_auto_augment", learnt_policies()["svhn"])
    again = editable_policy(graph, "auto_augment", "reduced_cifar10")
    assert again.node("auto_augment").args["policy"] == learnt_policies()["reduced_cifar10"]
    with pytest.raises(GraphEditError, match="'mine' is not a policy"):
        editable_policy(graph, "auto_augment", "mine")
    with pytest.raises(GraphEditError, match="has no policy"):
        editable_policy(graph, "resize")
