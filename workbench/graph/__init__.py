"""What the user composed: frozen graphs, pure edits, checks, JSON and recipes. No DALI here."""

from workbench.graph.check import Fault, check_graph, require_sound
from workbench.graph.io import dump_graph, load_graph, read_graph
from workbench.graph.model import Edge, Graph, Node, Port, Settings
from workbench.graph.recipes import load_recipe, load_recipes

__all__ = [
    "Edge",
    "Fault",
    "Graph",
    "Node",
    "Port",
    "Settings",
    "check_graph",
    "dump_graph",
    "load_graph",
    "load_recipe",
    "load_recipes",
    "read_graph",
    "require_sound",
]
