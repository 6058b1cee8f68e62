"""A check as a web page that stands on its own, with a small picture of each file that has one."""

from __future__ import annotations

import base64
import io
import os
from html import escape

from PIL import Image, ImageOps

from workbench.engine.protocol.exit_status import printable
from workbench.engine.reading.encoded_images import open_image, pillow_warnings_ignored
from workbench.engine.reading.findings import CheckedFile, Finding
from workbench.health.check import FolderCheck
from workbench.sources import Sample, list_samples

PICTURES = 1_000
"""Files that are shown with a picture: 3 kB each."""
_SIDE = 96
_STYLE = """
body { font: 14px/1.4 system-ui, sans-serif; margin: 2rem; color: #222; background: #fff }
table { border-collapse: collapse } td, th { padding: .3rem .8rem; text-align: left }
tr { border-top: 1px solid #ddd } img { display: block; max-width: 96px; max-height: 96px }
.bad b { color: #b00020 } .damaged b { color: #9a5b00 } code { overflow-wrap: anywhere }
"""


def html_report(check: FolderCheck) -> str:
    """The page: what was found how often, then each file with its findings, the worst first."""
    samples = {file.name: file for file in list_samples(check.dataset)}
    order = [*check.bad, *check.of_level("damaged"), *check.of_level("unusual")]
    rows = [
        _row(one, _picture(samples.get(one.file)) if number < PICTURES else "")
        for number, one in enumerate(order)
    ]
    counts = "".join(f"<tr><td>{escape(kind)}<td>{count:,}" for kind, count in check.counts.items())
    title = escape(f"Check of {printable(str(check.dataset))}")
    decoded = "each decoded" if check.decoded == check.count else f"{check.decoded:,} decoded"
    how = decoded if check.full else "by their headers"
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style><h1>{title}</h1><p>{check.count:,} files, {how}: "
        f"{len(check.bad):,} bad, {len(check.of_level('damaged')):,} damaged.</p>"
        f"<table>{counts}</table><table><tr><th>Picture<th>File<th>Found{''.join(rows)}</table>"
        "</html>\n"
    )


def _row(one: CheckedFile, picture: str) -> str:
    found = "".join(
        f'<div class="{f.level}"><b>{escape(f.kind)}</b> {escape(printable(f.reason))}</div>'
        for f in one.findings
    )
    return f"<tr><td>{picture}<td><code>{escape(printable(one.file))}</code><td>{found}"


def _picture(sample: Sample | None) -> str:
    """A small picture as an ``img``; empty for a file that gives none."""
    try:
        if sample is None or not os.path.isfile(sample.path):
            return ""
        with sample.open() as file, pillow_warnings_ignored():
            image = open_image(file)
            if isinstance(image, Finding):
                return ""
            image.draft("RGB", (_SIDE, _SIDE))
            small = ImageOps.exif_transpose(image)
            small.thumbnail((_SIDE, _SIDE))
            buffer = io.BytesIO()
            small.convert("RGB").save(buffer, "JPEG", quality=75)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return ""
    data = base64.b64encode(buffer.getvalue()).decode()
    return f'<img alt="" src="data:image/jpeg;base64,{data}">'
