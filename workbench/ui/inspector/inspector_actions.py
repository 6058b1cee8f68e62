"""What the inspector may ask to be done to the graph; arguments are in ``argument_actions.py``."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from workbench.catalog.spec import Catalog
from workbench.errors import GraphEditError
from workbench.graph.control_flow import options
from workbench.graph.model import Graph
from workbench.graph.model.body_titles import set_body_title
from workbench.graph.model.policy import own_policy
from workbench.ui.contract.actions import inspector
from workbench.ui.inspector import argument_actions as of_argument
from workbench.ui.inspector.condition_actions import ask_condition


def apply_inspector_edit(graph: Graph, catalog: Catalog, action: inspector.InspectorEdit) -> Graph:
    """The graph after an action. Raises GraphEditError for one that does not suit it."""
    match action:
        case inspector.SetArgument():
            graph = of_argument.set_argument(graph, catalog, action)
            return options.fit_generator(graph, catalog, action.node)
        case inspector.ResetArgument():
            graph = of_argument.reset_argument(graph, catalog, action)
            return options.fit_generator(graph, catalog, action.node)
        case inspector.LinkArgument():
            return of_argument.link_argument(graph, catalog, action)
        case inspector.RandomiseArgument():
            return of_argument.randomise_argument(graph, catalog, action)
        case inspector.OwnGenerator():
            return of_argument.own_generator(graph, catalog, action)
        case inspector.FixArgument():
            return of_argument.fix_argument(graph, catalog, action)
        case inspector.SetGeneratorArgument():
            return of_argument.set_generator(graph, catalog, action)
        case inspector.SetProbability():
            probability = _number(action.probability, "a number from 0 to 1")
            return options.set_probability(graph, catalog, action.block, probability)
        case inspector.SetCondition():
            return ask_condition(graph, catalog, action)
        case inspector.SetWeights():
            return options.set_weights(
                graph,
                catalog,
                action.block,
                [_number(each, "numbers, 0 or more") for each in action.weights],
            )
        case inspector.AddOption():
            return options.add_option(graph, catalog, action.block)
        case inspector.RemoveOption():
            return options.remove_option(graph, catalog, action.block, action.body)
        case inspector.MoveOption():
            return options.move_option(graph, catalog, action.block, action.body, action.by)
        case inspector.NameBody():
            return set_body_title(graph, catalog, action.block, action.body, action.title)
        case inspector.OwnPolicy():
            return own_policy(graph, catalog, action.node, action.name)
        case inspector.SetDevice():
            return _set_device(graph, catalog, action)
    assert_never(action)


def _number(value: float | str, allowed: str) -> float:
    if isinstance(value, str):
        raise GraphEditError(f"{value[:40]!r} is no number. Give {allowed}.")
    return value


def _set_device(graph: Graph, catalog: Catalog, action: inspector.SetDevice) -> Graph:
    node = graph.node(action.node)
    match action.device:
        case "cpu" | "gpu" | "mixed" as device if device in catalog[node.op].devices:
            return graph.replace_node(replace(node, device=device))
        case "":
            return graph.replace_node(replace(node, device=None))
    raise GraphEditError(
        f"{node.id} ({node.op}) cannot run on {action.device[:40]!r}. "
        f"It runs on {', '.join(catalog[node.op].devices)}."
    )
