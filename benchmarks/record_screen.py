"""Record the README's animation: sliders are dragged in the real web app, and the photos update.

    python -m benchmarks.record_screen --data photos assets/screenshots/slider.webp

The app is served as ``workbench app`` serves it, in a process of its own; Chromium is headless.
Frames come from Chromium's screencast with their times, so that the picture plays as fast as it
was. With ``--steps`` (on a machine that others use too) a frame is taken at each step of the
drag when its pictures are there, and the steps play at ``STEPS_A_SECOND``. Where there is a GPU,
it decodes there (mixed). Beside the picture a record (JSON) says on what it ran, and how.
"""

from __future__ import annotations

import argparse
import base64
import io
import json
import math
import os
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image
from playwright.sync_api import Locator, Page, sync_playwright

import workbench as wb
from tests.conftest import chromium_path, no_chromium
from tests.ui.conftest import FLAGS
from tests.ui.hosts import PATIENCE, await_picture
from tests.ui.labserver import await_server, free_port
from workbench.engine import describe_machine
from workbench.graph.edits.edit import set_setting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIZE = {"width": 1280, "height": 720}
SHOWN_WIDTH = 960
MOST_BYTES = 2_000_000
LAST = 1200
"""Milliseconds for which the last frame is shown."""
DRAGS = (("rotate", "angle", -25, 25), ("color_twist", "saturation", 0.2, 2.6))
"""Node, argument, and the values between which its slider is dragged."""
STEPS = 24
"""Moves of the mouse in a drag, one in each frame of the screen."""
STEPS_A_SECOND = 8
SETTLED = """() => new Promise((done) => {
  const find = (root) => root.querySelector(".wb-preview") ||
    [...root.querySelectorAll("*")].flatMap((el) =>
      el.shadowRoot ? [find(el.shadowRoot)] : []).find(Boolean);
  const preview = find(document);
  let timer = setTimeout(done, 250);
  new MutationObserver(() => { clearTimeout(timer); timer = setTimeout(done, 250); })
    .observe(preview, { attributes: true, attributeFilter: ["data-sheet"] });
})"""
"""Wait until no new sheet was drawn for a quarter of a second."""

_POINTER = """() => {
  const dot = document.createElement("div");
  dot.style.cssText = "position:fixed;z-index:99999;width:18px;height:18px;margin:-9px;left:-99px;"
    + "border-radius:50%;background:#f59e0b99;border:2px solid #b45309;pointer-events:none";
  document.body.append(dot);
  addEventListener("mousemove", ({ clientX, clientY }) => {
    dot.style.left = `${clientX}px`; dot.style.top = `${clientY}px`;
  }, true);
}"""
"""Headless Chromium draws no pointer."""


def demonstration(data: Path, device: str) -> wb.Graph:
    graph = wb.read(data, random_shuffle=True, initial_fill=120).decode().resize(size=(224, 224))
    graph = graph.rotate(angle=0, keep_size=True).color_twist(saturation=1.0).named("a first look")
    return set_setting(graph, batch_size=12, device=device)


@contextmanager
def served(data: Path, graph: wb.Graph) -> Iterator[str]:
    """The address of `workbench app` on a free port."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        start = Path(folder, "start.json")
        start.write_text(wb.dump_graph(graph))
        command = [sys.executable, "-m", "workbench.cli", "app", "--data", str(data)]
        command += ["--graph", str(start), "--port", str(port), "--no-token", "--no-browser"]
        environment = {**os.environ, "DALI_WORKBENCH_STATE": str(Path(folder, "state"))}
        app = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
        try:
            await_server(f"http://127.0.0.1:{port}/favicon.ico", lambda: app.poll() is None)
            yield f"http://127.0.0.1:{port}/"
        finally:
            app.terminate()
            app.wait(30)


def drag(page: Page, slider: Locator, low: float, high: float, stepped: Callable[[], None]) -> None:
    """Drag a slider from its value to the high one, the low one and back, on a sine."""
    box = slider.bounding_box()
    assert box is not None
    least, most = (float(slider.get_attribute(end) or 0) for end in ("min", "max"))
    value, thumb = float(slider.input_value()), 16

    def place(value: float) -> tuple[float, float]:
        share = (value - least) / (most - least)
        return box["x"] + thumb / 2 + share * (box["width"] - thumb), box["y"] + box["height"] / 2

    page.mouse.move(*place(value), steps=10)
    page.mouse.down()
    for step in range(STEPS + 1):
        swing = math.sin(2 * math.pi * step / STEPS)
        page.mouse.move(*place(value + swing * (high - value if swing > 0 else value - low)))
        stepped()
    page.mouse.up()


def record(page: Page, url: str, in_steps: bool) -> list[tuple[float, bytes]]:
    """Frames with their times in seconds."""
    page.goto(url)
    await_picture(page)
    page.evaluate(_POINTER)
    frames: list[tuple[float, bytes]] = []
    cast = page.context.new_cdp_session(page)

    def note(frame: dict[str, Any]) -> None:
        frames.append((frame["metadata"]["timestamp"], base64.b64decode(frame["data"])))
        cast.send("Page.screencastFrameAck", {"sessionId": frame["sessionId"]})

    def paint() -> None:
        page.evaluate("() => new Promise(requestAnimationFrame)")

    def take() -> None:
        page.evaluate(SETTLED)
        frames.append((len(frames) / STEPS_A_SECOND, page.screenshot()))

    cast.on("Page.screencastFrame", note)
    for number, (node, argument, low, high) in enumerate(DRAGS):
        page.locator(f".react-flow__node[data-id={node}] b").first.click()
        row = page.locator(f".wb-inspector [data-arg={argument}]")
        slider = row.get_by_role("slider").first
        slider.wait_for()
        if not number and not in_steps:
            cast.send("Page.startScreencast", {"format": "png"})
        drag(page, slider, low, high, take if in_steps else paint)
    page.evaluate(SETTLED)
    return frames


def encode(frames: list[tuple[float, bytes]], quality: int) -> bytes:
    images = [Image.open(io.BytesIO(data)).convert("RGB") for _, data in frames]
    height = round(SHOWN_WIDTH * images[0].height / images[0].width)
    size = SHOWN_WIDTH, height
    first, *others = (image.resize(size, Image.Resampling.LANCZOS) for image in images)
    durations = [max(1, round((b - a) * 1000)) for (a, _), (b, _) in pairwise(frames)]
    written = io.BytesIO()
    first.save(
        written,
        "WEBP",
        save_all=True,
        append_images=others,
        duration=[*durations, LAST],
        loop=0,
        quality=quality,
        method=4,
    )
    return written.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument(
        "--steps", action="store_true", help="each step when its pictures are there"
    )
    asked = parser.parse_args()
    machine = describe_machine()
    path = chromium_path()
    assert path, no_chromium()
    graph = demonstration(asked.data, "mixed" if machine.gpu else "cpu")
    with served(asked.data, graph) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        page = browser.new_page(viewport=SIZE)
        page.set_default_timeout(PATIENCE)
        frames = record(page, url, asked.steps)
        browser.close()
    made, quality = b"", 90
    while not made or len(made) > MOST_BYTES:
        quality -= 10
        made = encode(frames, quality)
    asked.picture.write_bytes(made)
    seconds = frames[-1][0] - frames[0][0]
    about = {
        "machine": asdict(machine),
        "timing": f"steps, {STEPS_A_SECOND} a second" if asked.steps else "as it was",
        "frames": len(frames),
        "seconds": round(seconds, 2),
    }
    asked.picture.with_suffix(".json").write_text(json.dumps(about, indent=2) + "\n")
    print(f"{asked.picture}: {len(made):,} bytes, {len(frames)} frames in {seconds:.1f} s")


if __name__ == "__main__":
    main()
