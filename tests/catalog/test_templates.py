"""Templates as data: what fits nothing is an error that names the template."""

from __future__ import annotations

import pytest

from workbench.catalog import Catalog
from workbench.catalog.templates import load_templates, read_templates
from workbench.errors import CatalogError


def test_nodes_are_of_usable_operators_and_name_their_inputs_and_arguments(
    catalog: Catalog,
) -> None:
    for template in load_templates().values():
        for node in template.nodes:
            spec = catalog[node.op]
            assert not spec.unusable
            assert len(node.inputs) <= max(len(spec.inputs), spec.max_inputs), template.name
            assert not (node.args.keys() | node.feeds.keys()) - spec.args.keys(), template.name


def test_every_template_says_what_it_is() -> None:
    for template in load_templates().values():
        assert template.label
        assert template.summary.endswith(".")
        assert len(set(template.synonyms)) == len(template.synonyms), template.name


def test_lists_are_frozen_and_what_is_not_said_is_empty() -> None:
    (template,) = read_templates(
        '[a]\nnodes = [{ id = "b", op = "rotate", from = ["in"], args = { size = [1, 2] } }]'
    ).values()
    (node,) = template.nodes
    assert (node.inputs, node.feeds, node.args) == (("in",), {}, {"size": (1, 2)})
    assert (template.label, template.summary, template.synonyms) == ("a", "", ())


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("[a", "not TOML"),
        ("[a]\nnodes = []", r"\[a\]: it has no nodes"),
        ("[a]\nfruit = 1\nnodes = []", "key 'fruit'. There are: label"),
        ('[a]\nnodes = [{ id = "b" }]', "a node has no 'op'"),
        ('[a]\nnodes = [{ id = "b", op = "flip", angle = 1 }]', "key 'angle'"),
        ('[a]\nnodes = [{ id = "b", op = "flip", from = ["c"] }]', "b is fed by 'c'"),
        (
            '[a]\nnodes = [{ id = "b", op = "flip" }, { id = "b", op = "flip" }]',
            "two nodes are called 'b'",
        ),
    ],
)
def test_what_is_wrong_is_named(toml: str, message: str) -> None:
    with pytest.raises(CatalogError, match=message):
        read_templates(toml)
