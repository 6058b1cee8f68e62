"""The speed lab in both hosts: what is asked, and what is seen."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.bench.fakes import measured, report
from tests.optimiser.made_up import slow_graph
from tests.sources.test_video_frames import sequences
from tests.sources.written import write_frames
from tests.ui.hosts import (
    PATIENCE,
    Host,
    await_picture,
    await_python,
    open_page,
    part,
    point,
    small,
)
from tests.ui.speed.records import stage_record
from workbench.bench.records.record import dump_report, load_report
from workbench.graph import Graph

pytestmark = pytest.mark.browser


# The speed lab in a real JupyterLab and a real Panel app: what is asked, and what is seen.

TINY = (
    "(lambda module, config: module.MEASUREMENT_CONFIGS.update(usual=config, quick=config))("
    "__import__('workbench.ui.speed.experiment_factory', fromlist=['x']),"
    "__import__('workbench.bench.measuring.measurement_config', fromlist=['x']).MeasurementConfig("
    "round_seconds=0.05, round_batches=2, rounds=2, warm_up_rounds=2, budget=0.1))"
)
TINY_REWRITES = (
    "(lambda module, config: setattr(module, 'OPTIMISE_CONFIG', config))("
    "__import__('workbench.optimiser.experiment', fromlist=['x']),"
    "__import__('workbench.bench.measuring.measurement_config', fromlist=['x']).MeasurementConfig("
    "round_seconds=0.05, round_batches=2, rounds=3, warm_up_rounds=2, budget=0.1))"
)


def speed_panel(host: Host, photos: Path, graph: Graph | None = None) -> Locator:
    """The panel of a small graph, with rounds as short as can be."""
    host.open(photos, graph or small())
    await_picture(host.page)
    host.python(TINY)
    part(host.page, "tabs").get_by_role("tab", name="Speed").click()
    speed = part(host.page, "speed")
    expect(speed).to_be_visible()
    return speed


def turn_to(speed: Locator, name: str, part: str) -> Locator:
    speed.get_by_role("radio", name=name, exact=True).click()
    expect(speed).to_have_attribute("data-part", part)
    return speed.locator(f"[data-part={part}]")


def ended(speed: Locator) -> None:
    expect(speed).not_to_have_attribute("data-running", "true", timeout=PATIENCE)


@pytest.mark.thorough
def test_memory_is_predicted_and_its_nodes_are_selected(host: Host, photos: Path) -> None:
    speed = speed_panel(host, photos)
    memory = turn_to(speed, "Memory", "memory")
    memory.get_by_role("button", name="Predict memory").click()
    expect(memory.get_by_role("row", name="peak of the process")).to_be_visible(timeout=PATIENCE)
    memory.get_by_role("button", name="decode", exact=True).click()
    expect(part(host.page, "inspector")).to_contain_text("decoders.image")
    memory.get_by_role("button", name="Find decoders").click()
    expect(memory.get_by_role("row", name="JPEG engines")).to_be_visible(timeout=PATIENCE)


def await_measuring(host: Host, count: int) -> None:
    """Until so many threads measure, each with its processes."""
    named = "[t.name for t in __import__('threading').enumerate()].count('workbench-measurement')"
    await_python(host, named, lambda found: found == count)


@pytest.mark.thorough
@pytest.mark.skipif(not find_spec("albumentations"), reason="albumentations is not installed")
def test_peers_that_are_ticked_are_measured(host: Host, photos: Path) -> None:
    speed = speed_panel(host, photos)
    host.python(
        "__import__('workbench.ui.speed.experiment_factory', fromlist=['x'])"
        ".PEER_SECONDS.update(usual=4.0)"
    )
    peers = turn_to(speed, "Libraries", "peers")
    for box in peers.locator("[data-wb=peer]").all():
        box.uncheck()
    measure = peers.locator("[data-wb=measure]")
    expect(measure).to_be_disabled()
    peers.get_by_role("checkbox", name="Albumentations").check()
    measure.click()
    figure = peers.locator("[data-wb=figure]")
    expect(figure).to_have_attribute("data-bars", re.compile("[36]"), timeout=PATIENCE)
    ended(speed)
    rows = figure.locator("[data-wb=speed-row]")
    expect(rows.last).to_contain_text("Albumentations")


@pytest.mark.thorough
def test_compare_edit_and_open_a_record(host: Host, photos: Path, tmp_path: Path) -> None:
    speed = speed_panel(host, photos)
    compare = speed.locator("[data-part=compare]")
    compare.locator("[data-wb=measure]").click()
    expect(compare.locator("[data-wb=unmeasured]")).to_contain_text("Measuring.")
    figure = compare.locator("[data-wb=figure]")
    expect(figure).to_have_attribute("data-bars", "4", timeout=PATIENCE)
    ended(speed)  # a bar stands before its figure does
    rows = figure.locator("[data-wb=speed-row]")
    cpu = host.python("model.shown('speed', 'compare')['bars'][2]")
    expect(rows.nth(2)).to_contain_text(f"{cpu['figure']} imgs/s")
    on = figure.locator("[data-wb=measured-on]")
    expect(on).to_contain_text("batch 4 · 2 threads · prefetch 2 · page cache warm")
    on.locator("summary").click()
    expect(on).to_contain_text("Page cache")
    figure.locator("[data-wb=table] summary").click()
    expect(figure.get_by_role("rowheader", name="CPU, whole pipeline")).to_be_visible()
    no_gpu = host.python("model.machine.no_gpu")
    if no_gpu:
        expect(rows.nth(1).locator(".wb-reason")).to_have_text("not measured")
        expect(compare.locator("[data-wb=elsewhere]")).to_contain_text(no_gpu)
        expect(compare.locator("[data-wb=command]")).to_contain_text(
            "workbench bench rotate-jitter --batch-size 4 --threads 2 --data DIR"
        )

    # An edit is told, and undone it is told no more.
    expect(figure.locator("[data-wb=earlier]")).to_have_count(0)
    speed.get_by_label("Threads", exact=True).fill("1")
    speed.get_by_label("Threads", exact=True).press("Enter")
    expect(figure.locator("[data-wb=earlier]")).to_contain_text("the graph now has batch 4, 1 thr")
    part(host.page, "bar").locator("[data-wb=undo]").click()
    expect(figure.locator("[data-wb=earlier]")).to_have_count(0)

    # A record of a machine with a GPU, beside it.
    rates = measured(1000.0), measured(9000.0, device="mixed")
    record = report(*rates, created="2026-11-20T10:00:00+00:00")
    (tmp_path / "h200.json").write_text(dump_report(record))
    (tmp_path / "no.json").write_text('{"format": "holiday photos"}')
    compare.locator("input[type=file]").set_input_files(tmp_path / "no.json")
    expect(speed.locator("[data-wb=run]")).to_contain_text("not a record of measurements")
    expect(speed.locator("[data-wb=run]")).to_have_attribute("data-kind", "warning")
    compare.locator("input[type=file]").set_input_files(tmp_path / "h200.json")
    expect(figure).to_have_attribute("data-bars", "6")
    expect(figure.locator("[data-wb=ratio]").filter(has_text="9.00 × CPU (h200)")).to_be_visible()

    # Both are records: set side by side, named, and taken along.
    records = turn_to(speed, "Records", "records")
    lines = records.locator("[data-wb=record]")
    for name in ("h200", "rotate-jitter,"):
        lines.filter(has=host.page.get_by_label(f"Name of {name}")).last.locator(
            "[data-wb=choose]"
        ).check()
    expect(records.locator("[data-wb=comparison]")).to_contain_text("cpu, pipeline")
    mine = lines.filter(has=host.page.get_by_label("Name of h200"))
    mine.locator("[data-wb=record-name]").fill("the H200")
    mine.locator("[data-wb=record-name]").press("Enter")
    expect(records.get_by_label("Name of the H200")).to_be_visible()
    mine = lines.filter(has=host.page.get_by_label("Name of the H200"))
    for kind in ("json", "svg"):
        with host.page.expect_download() as download:
            mine.locator(f"[data-wb=export-{kind}]").click()
        content = Path(download.value.path()).read_text()
        assert download.value.suggested_filename == f"the-H200.{kind}"
        if kind == "json":
            assert load_report(content).name == "the H200"
        else:
            assert "</svg>" in content


@pytest.mark.thorough
def test_cancel_leaves_nothing(host: Host, photos: Path) -> None:
    speed = speed_panel(host, photos)
    scaling = turn_to(speed, "Scaling", "scaling")
    host.python(TINY.replace("budget=0.1", "budget=100").replace("rounds=2,", "rounds=5000,", 1))
    scaling.locator("[data-wb=measure]").click()
    expect(speed.locator("[data-wb=message]")).to_contain_text("round", timeout=PATIENCE)
    expect(speed.get_by_role("progressbar")).to_be_visible()
    tabs = part(host.page, "tabs")
    percent = tabs.locator("[data-tab=speed] small").bounding_box()
    tab, after = (tabs.locator(f"[data-tab={name}]").bounding_box() for name in ("speed", "code"))
    assert tab is not None
    assert percent is not None
    assert after is not None
    assert tab["x"] + tab["width"] < percent["x"]
    assert percent["x"] + percent["width"] < after["x"]
    await_measuring(host, 1)
    # The panel goes on answering.
    turn_to(speed, "Compare", "compare")
    expect(speed.locator("[data-part=compare] [data-wb=measure]")).to_be_disabled()
    speed.locator("[data-wb=cancel]").click()
    ended(speed)
    expect(speed.locator("[data-wb=message]")).to_have_text("Cancelled.")
    await_measuring(host, 0)
    assert host.python("model.shown('speed', 'scaling')") == {}


FIELDS = {"threads": "1", "batches": "2, 8", "prefetch": "1", "pipelines": "1"}


@pytest.mark.thorough
def test_a_tuned_setting_is_adopted_and_undone(host: Host, photos: Path) -> None:
    speed = speed_panel(host, photos)
    tune = turn_to(speed, "Tune", "tune")
    tune.locator("[data-wb=values]").click()
    for field, values in FIELDS.items():
        tune.locator(f"[data-wb=try-{field}]").fill(values)
    tune.get_by_role("radio", name="All settings").click()
    tune.locator("[data-wb=measure]").click()
    heat = tune.locator("[data-wb=heat]")
    # It fills as settings are measured: the grid, then a figure at a time.
    expect(heat.locator("td[data-now]")).to_have_count(1, timeout=PATIENCE)
    expect(heat.locator("td")).to_have_count(2)
    expect(heat.locator("td[data-rate]")).to_have_count(1, timeout=PATIENCE)
    expect(speed).to_have_attribute("data-running", "true")
    expect(tune.locator("[data-wb=best]")).to_contain_text("Best so far: ")
    expect(tune.locator("[data-wb=adopt]")).to_be_hidden()
    expect(speed.locator("[data-wb=message]")).to_contain_text(" left")
    ended(speed)
    expect(heat.locator("td[data-rate]")).to_have_count(2)
    expect(heat.locator("td[data-now]")).to_have_count(0)
    expect(heat.locator("td[data-best]")).to_have_count(1)
    best = tune.locator("[data-wb=best] b").inner_text()
    assert best.endswith("1 thread, prefetch 1")
    before = host.python("model.graph.settings.batch_size")
    tune.locator("[data-wb=adopt]").click()
    expect(tune.locator("[data-wb=adopted]")).to_be_visible()
    settings = host.python("__import__('dataclasses').asdict(model.graph.settings)")
    words = f"batch {settings['batch_size']}, {settings['num_threads']} thread, prefetch 1"
    assert words == best
    expect(heat.locator("td[data-own]")).to_have_count(1)
    assert f"BATCH_SIZE = {settings['batch_size']}\n" in host.python(
        "model.state.checked.source.text"
    )
    part(host.page, "bar").locator("[data-wb=undo]").click()
    expect(tune.locator("[data-wb=adopt]")).to_be_visible()
    assert host.python("model.graph.settings.batch_size") == before


@pytest.mark.thorough
def test_a_quick_look_at_where_the_time_goes(host: Host, photos: Path) -> None:
    speed = speed_panel(host, photos)
    stages = turn_to(speed, "Where the time goes", "stages")
    stages.get_by_role("radio", name="Quick look", exact=True).click()
    stages.locator("[data-wb=measure]").click()
    expect(stages.locator("[data-wb=advice]")).to_contain_text(
        re.compile("Options|Unstable: "), timeout=PATIENCE
    )
    ended(speed)
    expect(stages.locator("[data-wb=quick]")).to_contain_text(
        "Quick results: at least 2 rounds of 0.2 s"
    )
    expect(stages.locator("[data-wb=quick]")).to_contain_text("at 50% confidence")
    color = stages.get_by_role("row").filter(has=host.page.locator("[data-stage=color]"))
    expect(color).to_contain_text("color_twist")
    expect(color.locator("td").nth(3)).to_contain_text("…")
    assert (
        host.python("next(iter(model.speed.store.records.values())).measurement_config.rounds") == 2
    )
    # The status line has a speed now: no other part says that nothing was measured.
    expect(part(host.page, "status")).to_contain_text("imgs/s")
    expect(turn_to(speed, "Compare", "compare")).to_contain_text("Not measured yet.")
    expect(turn_to(speed, "Scaling", "scaling")).to_contain_text("Not measured yet.")


@pytest.mark.thorough
def test_a_stage_leads_to_its_node(host: Host, photos: Path) -> None:
    speed = speed_panel(host, photos)
    stages = turn_to(speed, "Where the time goes", "stages")
    record = stage_record()
    speed.locator("[data-part=compare] input[type=file]").set_input_files(
        {"name": "s.json", "mimeType": "application/json", "buffer": record.encode()}
    )
    expect(stages.locator("[data-wb=advice]")).to_contain_text("Options")
    verdict, bars = stages.locator("[data-wb=verdict]"), stages.locator(".wb-stacks")
    expect(verdict.locator("b")).to_have_text(re.compile(r"^decode takes \S+ of \S+ ms, \d+ %$"))
    expect(verdict.locator("[data-wb=earlier]")).to_be_visible()  # next to the headline
    tops = [point(each, down=0)[1] for each in (verdict, bars, stages.locator("[data-wb=advice]"))]
    assert tops == sorted(tops), "bars and verdict come before the prose"
    stages.locator("button[data-node=decode]").first.click()
    expect(part(host.page, "canvas").locator("[data-node=decode]")).to_have_attribute(
        "aria-current", "true"
    )
    assert host.python("model.state.selected") == ["decode"]


@pytest.mark.thorough
def test_a_record_is_dropped(host: Host, photos: Path) -> None:
    speed = speed_panel(host, photos)
    text = dump_report(report(measured(1000.0), measured(9000.0, device="mixed")))
    drop(host.page, speed, text)
    figure = speed.locator("[data-part=compare] [data-wb=figure]")
    expect(figure).to_have_attribute("data-bars", "2")
    expect(figure.locator("[data-wb=ratio]")).to_contain_text("Mixed is 9.00 × CPU")
    expect(part(host.page, "bar").locator("[data-wb=title]")).to_contain_text("rotate-jitter")


def drop(page: Page, target: Locator, text: str) -> None:
    files = page.evaluate_handle(
        """(text) => {
          const carried = new DataTransfer();
          carried.items.add(new File([text], "h200.json", { type: "application/json" }));
          return carried;
        }""",
        text,
    )
    for event in ("dragover", "drop"):
        target.dispatch_event(event, {"dataTransfer": files, "bubbles": True, "composed": True})


@pytest.mark.thorough
def test_rewrites_are_found_taken_and_undone(host: Host, photos: Path) -> None:
    speed = speed_panel(host, photos, slow_graph())
    host.python(TINY_REWRITES)
    rewrites = turn_to(speed, "Rewrites", "rewrites")
    rewrites.locator("[data-wb=measure]").click()
    take = rewrites.locator("[data-wb=take][data-rewrite=colour-after-crop]")
    expect(take).to_be_visible(timeout=PATIENCE)
    ended(speed)
    row = rewrites.get_by_role("row").filter(
        has=host.page.locator("[data-rewrite=colour-after-crop]")
    )
    expect(row).to_contain_text("exact")
    expect(row).to_contain_text("none in 8 samples")
    before = host.python("[n.op for n in model.graph.nodes]")
    take.click()
    expect(take).to_have_count(0)
    expect(speed).to_contain_text("undo restores")
    figure = rewrites.locator("[data-wb=figure]")
    expect(figure).to_have_attribute("data-stale", "true")  # the gains are of the graph before
    after = host.python("[n.op for n in model.graph.nodes]")
    assert before[2:] == ["contrast", "brightness", "crop"]
    assert after[2:] == ["crop", "contrast", "brightness"]
    part(host.page, "bar").locator("[data-wb=undo]").click()
    expect(take).to_be_visible()
    expect(figure).not_to_have_attribute("data-stale", "true")
    assert host.python("[n.op for n in model.graph.nodes]") == before


# Data that no decoder follows, in both hosts: the speed of sequences.


@pytest.mark.thorough
def test_the_speed_of_sequences_is_told_with_their_frames(host: Host, tmp_path: Path) -> None:
    page = open_page(host, write_frames(tmp_path / "frames"), sequences())
    host.python(TINY)
    part(page, "tabs").get_by_role("tab", name="Speed").click()
    speed = part(page, "speed")
    compare = speed.locator("[data-part=compare]")
    compare.locator("[data-wb=measure]").click()
    row = compare.locator("[data-wb=speed-row]").filter(has_text=re.compile("sequences/s"))
    expect(row.first).to_contain_text(re.compile(r"[\d.,]+ sequences/s\s*[\w ,]+ frames/s"))
    ended(speed)
