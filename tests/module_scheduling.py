"""How ``make test`` distributes its tests to the workers of pytest-xdist."""

from __future__ import annotations

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadGroupScheduling


class ModuleScheduling(LoadGroupScheduling):
    """A group, or else a module, is one worker's, in which its fixtures are made.

    They come in the order of the collection, which has the longest first. Test by test, each worker
    would make the fixtures of every module; and pytest-xdist looks through all units that a worker
    ever had, after each of its tests.
    """

    def __init__(self, config: pytest.Config, log: Producer | None = None) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False

    def _split_scope(self, nodeid: str) -> str:
        scope = super()._split_scope(nodeid)
        return nodeid.partition("::")[0] if scope == nodeid else scope
