"""Register completion and Shift+Tab help in IPython. The code for them is loaded at first use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from IPython.core import completer


def register(shell: Any) -> None:
    """Add completion and help to an IPython shell, unless it is older than version 8.6 (Colab)."""
    if not hasattr(completer, "context_matcher"):
        return
    matchers = shell.Completer.custom_matchers
    if any(getattr(each, "of_workbench", False) for each in matchers):
        return
    matchers.append(_matcher(shell))
    kernel: Any = getattr(shell, "kernel", None)
    if hasattr(kernel, "do_inspect"):
        kernel.do_inspect = _inspection(shell, kernel.do_inspect)


def _matcher(shell: Any) -> Any:
    def complete(context: Any) -> dict[str, Any]:
        from workbench.ui.notebook.completion import completions

        lines = context.full_text.split("\n")[: context.cursor_line]
        code = "\n".join([*lines, context.text_until_cursor])
        begun, found, kind = completions(code, shell.user_ns)
        fitting = [each for each in found if each.startswith(begun)]
        return {
            "completions": [completer.SimpleCompletion(each, type=kind) for each in fitting],
            "matched_fragment": begun,
            "suppress": bool(fitting),
        }

    matcher = completer.context_matcher(identifier="workbench")(complete)
    vars(matcher)["of_workbench"] = True
    return matcher


def _inspection(shell: Any, original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a ``do_inspect`` for the kernel that also describes operators in call chains."""

    def do_inspect(code: str, cursor_pos: int, *args: Any, **options: Any) -> Any:
        found = original(code, cursor_pos, *args, **options)
        if not isinstance(found, dict) or found.get("found"):
            return found
        from workbench.ui.notebook.completion import description

        text = description(code, cursor_pos, shell.user_ns)
        return found | {"found": True, "data": {"text/plain": text}} if text else found

    return do_inspect
