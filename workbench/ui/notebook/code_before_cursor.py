"""Infer the values of expressions before the cursor without running the code.

Jedi, which IPython uses, infers neither types of lambda parameters nor results of calls on existing
objects. Here, a method that returns a graph is assumed to return the graph it is called on.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from workbench.errors import WorkbenchError
from workbench.graph.builder.data_node import DataNode
from workbench.graph.builder.graph_methods import Fn
from workbench.graph.builder.node_handle import NodeHandle
from workbench.graph.model import Graph, Port
from workbench.graph.model.operators import OperatorGroup
from workbench.preview import OutputBatch
from workbench.ui.notebook.notebook_code import CodeAccess, LiveNode, LiveSettings

_TOKEN = re.compile(
    r"""(?P<comment>\#[^\n]*)
    |(?P<text>[rbfuRBFU]{0,2}(?:'''(?:\\.|[^\\])*?'''|\"\"\"(?:\\.|[^\\])*?\"\"\"
        |'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"))
    |(?P<begun>[rbfuRBFU]{0,2}(?P<quote>["'])(?P<inside>[^"'\\\n]*)\Z)
    |(?P<name>[^\W\d]\w*)
    |(?P<number>\d[\w.]*)
    |(?P<newline>\n)
    |(?P<space>[^\S\n]+|\\\n)
    |(?P<mark>.)""",
    re.VERBOSE | re.DOTALL,
)
_CLOSING = {")": "(", "]": "[", "}": "{"}
_VALUE = DataNode(Graph(), Port("", ""))
_READABLE = frozenset({"graph", "settings"})
"""Properties of a workbench that may be read. Reading other properties might start a computation.
"""


@dataclass(frozen=True, slots=True)
class Token:
    """A token of the code. ``kind`` is the name of a group in the regular expression."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """Function call that is not closed before the cursor."""

    function: Any
    keywords: frozenset[str]
    """Names of the keyword arguments before the cursor."""
    argument_count: int
    """Number of complete arguments before the cursor."""


class CodeBeforeCursor:
    """Tokens of a cell before the cursor, and the inferred values of its names."""

    def __init__(self, code: str, names: Mapping[str, Any]) -> None:
        self._names = names
        self.tokens: list[Token] = []
        self._opened: list[int] = []
        """Token indices of unclosed brackets."""
        self._partner: dict[int, int] = {}
        """Token index of the opening bracket, by the index of the closing bracket."""
        self._within: list[int] = []
        """Token index of the innermost bracket around each token; -1 if there is none."""
        for found in _TOKEN.finditer(code):
            kind = "begun" if found["begun"] is not None else str(found.lastgroup)
            if kind in ("comment", "space") or (kind == "newline" and self._opened):
                continue
            text = found["inside"] if kind == "begun" else found[0]
            if kind == "mark" and text in _CLOSING and self._opened:
                self._partner[len(self.tokens)] = self._opened.pop()
            self._within.append(self._opened[-1] if self._opened else -1)
            if kind == "mark" and text in "([{":
                self._opened.append(len(self.tokens))
            self.tokens.append(Token(kind, text))
        self._within.append(self._opened[-1] if self._opened else -1)  # at the cursor

    def text(self, index: int) -> str:
        """Return the text of a token; "" for strings, numbers, and indices out of range."""
        inside = 0 <= index < len(self.tokens)
        return self.tokens[index].text if inside and self.tokens[index].kind in _CODE else ""

    def object_before(self, end: int, depth: int = 0) -> Any:
        """Return the value of the expression that ends before token ``end``; None if unknown."""
        last = end - 1
        if last < 0 or depth > _DEEPEST:
            return None
        if self.tokens[last].kind == "name":
            name = self.text(last)
            if self.text(last - 1) == ".":
                return attribute(self.object_before(last - 1, depth + 1), name)
            return self._variable(name, last, depth + 1)
        opening = self._partner.get(last)
        if opening is None:
            return None
        called = self.text(opening - 1)
        is_name = called.isidentifier() and called not in _WORDS
        if not is_name and opening - 1 not in self._partner:
            return self.object_before(last, depth + 1) if self.text(opening) == "(" else None
        owner = self.object_before(opening, depth + 1)
        if self.text(opening) == "(":
            return result_of(owner)
        return _item(owner, self.tokens[opening + 1 : last])

    def _variable(self, name: str, index: int, depth: int) -> Any:
        for opening in self._brackets_around(index):
            if any(self._binds(name, each) for each in range(opening + 1, index)):
                owner = self.object_before(opening - 2, depth)
                return owner if isinstance(owner, Graph) else Graph()
        for at in reversed(range(index - 1)):
            begins = at == 0 or self.tokens[at - 1].kind == "newline"
            if begins and self.text(at) == name and self.text(at + 1) == "=":
                line = range(at + 2, index)
                ends = [each for each in line if self.tokens[each].kind == "newline"]
                if ends:
                    return self.object_before(ends[0], depth)
        return self._names.get(name)

    def _binds(self, name: str, index: int) -> bool:
        is_parameter = self.text(index) == name and self.text(index - 1) == "lambda"
        return is_parameter and self.text(index + 1) == ":"

    def _brackets_around(self, index: int) -> Iterator[int]:
        """Yield the indices of the opening brackets around a token, innermost first."""
        opening = self._within[index]
        while opening >= 0:
            yield opening
            opening = self._within[opening]

    def bracket_around(self, index: int) -> int:
        """Return the index of the innermost bracket around a token; -1 if there is none."""
        return self._within[index]

    def call_around(self, index: int) -> Call | None:
        """Return the innermost call around a token; None if the innermost bracket is not a call."""
        opening = self._within[index]
        function = self.object_before(opening) if self.text(opening) == "(" else None
        if function is None:
            return None
        own = [each for each in range(opening + 1, index) if self._within[each] == opening]
        keywords = {self.text(each - 1) for each in own if self.text(each) == "="}
        commas = [each for each in own if self.text(each) == ","]
        return Call(function, frozenset(keywords), len(commas))


_CODE = ("name", "mark", "number")
_WORDS = frozenset({"in", "is", "not", "and", "or", "if", "else", "return", "lambda", "yield"})
KINDS = (Graph, DataNode, Fn, OperatorGroup, NodeHandle, LiveNode, LiveSettings, OutputBatch)
"""Types whose attributes can be read without running user code or DALI."""
_DEEPEST = 200
"""Maximum length of a chain of calls or aliases."""


def attribute(owner: Any, name: str) -> Any:
    """Return an attribute of a workbench object; None if reading it might run code."""
    is_module = inspect.ismodule(owner) and owner.__name__ == "workbench"
    if isinstance(owner, CodeAccess):
        static = inspect.getattr_static(type(owner), name, None)
        if isinstance(static, property) and name not in _READABLE:
            return None
    elif not (isinstance(owner, KINDS) or is_module or owner is Graph):
        return None
    try:
        return getattr(owner, name)
    except (AttributeError, WorkbenchError):
        return None


def result_of(function: Any) -> Any:
    """Infer what a function of the workbench returns without calling it; None if unknown."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, NodeHandle):
        return owner._graph
    if hasattr(function, "spec"):
        owner = getattr(function, "owner", owner)
        return owner if isinstance(owner, Graph) else _VALUE
    module = getattr(function, "__module__", None) or ""
    if not inspect.isroutine(function) or not module.startswith("workbench."):
        return None
    returned = function.__annotations__.get("return")
    if returned == "OutputBatch":
        if isinstance(owner, OutputBatch):
            return owner
        graph = getattr(owner, "graph", owner)
        return OutputBatch(0, dict(graph.outputs if isinstance(graph, Graph) else ()), {}, ())
    if returned != "Graph":
        return None
    return owner if isinstance(owner, Graph) else Graph()


def _item(owner: Any, tokens: list[Token]) -> Any:
    if isinstance(owner, DataNode):
        return owner
    if not isinstance(owner, Graph | CodeAccess) or len(tokens) != 1 or tokens[0].kind != "text":
        return None
    try:
        return owner[ast.literal_eval(tokens[0].text)]
    except (WorkbenchError, ValueError, SyntaxError):
        return None
