"""Defaults of a command line, read from the text of a script."""

from __future__ import annotations

import ast

from workbench.engine.assumed_values.command_line_defaults import command_line_defaults

SCRIPT = """
SIDE = 224
OTHER = 1
OTHER = 2
TAKEN = 3
def take(TAKEN): pass
def make():
    local = 4
def parse(parser):
    parser.add_argument("-b", "--batch-size", default=64, type=int)
    parser.add_argument("--scale", type=float, nargs="+", default=(0.4, 1.0))
    parser.add_argument("--blur", action="store_true")
    parser.add_argument("--no-flip", dest="flip", action="store_false")
    parser.add_argument("--lr", default="0.1", type=float)
    parser.add_argument("--run", default=time.time())
    parser.add_argument("--named", default=None)
    parser.add_argument("--side", default=SIDE)
    parser.add_argument("--other", default=OTHER)
    parser.add_argument("--taken", default=TAKEN)
    parser.add_argument("--local", default=local)
    parser.add_argument("data")
    parser.add_argument("--counted", action="count")

if __name__ == "__main__":
    parser.add_argument("--dataset", choices=["cifar10"], default="cifar10")
"""


def test_what_the_text_says() -> None:
    assert command_line_defaults([ast.parse(SCRIPT)]) == {
        **{"batch_size": 64, "scale": (0.4, 1.0), "blur": False, "flip": True, "lr": 0.1},
        **{"dataset": "cifar10", "side": 224},
    }
