"""Templates as data."""

from __future__ import annotations

from workbench.catalog import Catalog
from workbench.catalog.templates import PLACE, SECOND, load_templates


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


def test_nodes_have_ids_of_their_own_and_are_fed_by_what_is_before_them() -> None:
    for template in load_templates().values():
        known = [PLACE, SECOND]
        for node in template.nodes:
            assert {*node.inputs, *node.feeds.values()} <= {*known}, template.name
            assert node.id not in known, template.name
            known.append(node.id)
        assert template.nodes
