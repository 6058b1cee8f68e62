"""Represent, edit, check and store the graphs that a user composes.

This package does not import DALI.
"""

from workbench.graph.builder.data_node import DataNode
from workbench.graph.builder.graph_methods import outputs
from workbench.graph.builder.read import fn, random, read
from workbench.graph.checks.check import Fault, check_graph, require_sound
from workbench.graph.model import Edge, Graph, Node, Port, Settings
from workbench.graph.storage.io import dump_graph, load_graph, read_graph
from workbench.graph.storage.recipes import load_recipe, load_recipes

__all__ = [
    "DataNode",
    "Edge",
    "Fault",
    "Graph",
    "Node",
    "Port",
    "Settings",
    "check_graph",
    "dump_graph",
    "fn",
    "load_graph",
    "load_recipe",
    "load_recipes",
    "outputs",
    "random",
    "read",
    "read_graph",
    "require_sound",
]
