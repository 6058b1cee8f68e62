"""The status line: what is wrong, how fast this very graph was, what is kept."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.bench.fakes import measured
from tests.ui.app.test_browser_screen import box, in_sight
from tests.ui.hosts import Host, await_picture, await_python, part, small
from workbench.bench import Report
from workbench.bench.records.context import graph_hash
from workbench.bench.records.record import dump_report
from workbench.engine.resources.machine import describe_machine
from workbench.sources import describe_datasets, open_datasets
from workbench.ui.storage.autosave import state_folder

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("host", ["panel"], indirect=True)
def test_faults_speed_and_what_is_kept(host: Host, photos: Path) -> None:
    graph = small()
    there = Report(
        graph.name,
        describe_datasets(open_datasets(photos)),
        describe_machine(),
        (measured(1740.0, threads=2),),
        created=datetime.now(UTC).isoformat(),
        context={"graph_sha256": graph_hash(graph)},
    )
    records = state_folder() / "records"
    records.mkdir(parents=True, exist_ok=True)
    for name, record in {"a": there, "b": replace(there, context={})}.items():
        (records / f"{name}.json").write_text(dump_report(record))
    host.open(photos, graph)
    await_picture(host.page)
    line = part(host.page, "status")
    assert in_sight(host.page, line)
    assert box(line)[3] - box(line)[1] <= 30, "one line"
    expect(line.locator("[data-wb=status-faults]")).to_have_text("no faults")
    expect(line.locator("[data-wb=status-kept]")).to_have_text("kept on this machine")
    speeds = line.locator("[data-wb=status-speeds]")
    expect(speeds).to_contain_text("CPU 1,740 imgs/s")
    expect(speeds).to_contain_text("batch 64 · 2 threads · prefetch 2")
    host.python("model.act('canvas', {'do': 'disconnect', 'edges': ['flip:data']})")
    expect(speeds).to_have_text("speed not measured")
    host.python("model.act('canvas', {'do': 'select', 'node': 'rotate'})")
    button = line.get_by_role("button", name="1 fault")
    button.click()
    listed = line.get_by_role("dialog", name="Faults")
    fault = listed.locator("[data-wb=fault]")
    expect(fault).to_be_focused()
    assert box(listed)[3] <= box(line)[1], "above the line, whole"
    words = listed.locator("[data-wb=fault] span")
    assert words.evaluate("el => el.scrollWidth <= el.clientWidth"), "wrapped, not cut"
    fault.click()
    await_python(host, "model.state.selected", lambda selected: selected == ["flip"])
    button.focus()
    host.page.keyboard.press("Enter")
    expect(fault).to_be_focused()
    fixes = [fix.inner_text() for fix in listed.locator("[data-wb=fix]").all()]
    assert fixes == host.python("list(model.shown('bar', 'faults')[0]['fixes'])")
    host.page.keyboard.press("ArrowDown")
    expect(listed.get_by_role("button", name=fixes[0])).to_be_focused()
    host.page.keyboard.press("Enter")
    expect(line.locator("[data-wb=status-faults]")).to_have_text("no faults")
