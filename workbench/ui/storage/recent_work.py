"""List the stored sessions that can be opened, with names, data and pictures."""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Collection
from datetime import datetime
from pathlib import Path

from workbench.errors import GraphFormatError
from workbench.preview import PreviewResult
from workbench.preview.pictures.contact_sheet import decode
from workbench.roots import Roots
from workbench.ui.contract.payloads import RecentEntry
from workbench.ui.storage.autosave import datetime_text, is_open, sessions_folder
from workbench.ui.storage.session_file import Session, load_session

SHOWN = 24
TILES, TILE = 4, 96
"""``TILES``: number of photos in a session's picture. ``TILE``: side of a photo in pixels. Pictures
of recipes have the same size.
"""
QUALITY = 60


def recent_work(excluded_owner: str = "") -> list[RecentEntry]:
    """Return the stored sessions with edits, newest first, except the one of ``excluded_owner``."""
    entries: list[RecentEntry] = []
    for when, path in sorted(_files(), reverse=True):
        if len(entries) == SHOWN:
            break
        if path.stem == excluded_owner:
            continue
        try:
            session = load_session(path.read_text(encoding="utf-8"))
        except (OSError, GraphFormatError, UnicodeDecodeError):
            continue
        if session.edited:
            entries.append(_entry(path, session, datetime.fromtimestamp(when)))
    return entries


def recent_folders(roots: Roots | None, excluded: Collection[str] = ()) -> list[str]:
    """Return the data folders of stored sessions, most recently used first.

    Folders in ``excluded``, missing folders, and folders that may not be opened are omitted.
    """
    found: dict[str, None] = {}
    for _, path in sorted(_files(), reverse=True):
        if len(found) == SHOWN:
            break
        try:
            session = load_session(path.read_text(encoding="utf-8"))
        except (OSError, GraphFormatError, UnicodeDecodeError):
            continue
        for place in session.data.values():
            refused = roots is not None and bool(roots.refusal(place))
            if place and place not in excluded and not refused and os.path.isdir(place):
                found[place] = None
    return list(found)


def small_picture(preview: PreviewResult) -> bytes:
    """Return a WebP with the first photos of a preview in a row, augmented if possible."""
    from PIL import Image

    sheet = decode(preview.image, preview.mime, preview.size)
    shown = [(*tile.augmented, tile.original)[0] for tile in preview.tiles]
    boxes = [box for box in shown if box is not None]
    picture = Image.new("RGB", (TILES * TILE, TILE), "white")
    for place, (x, y, width, height) in enumerate(boxes[:TILES]):
        tile = sheet.crop((x, y, x + width, y + height)).resize((TILE, TILE))
        picture.paste(tile, (place * TILE, 0))
    data = io.BytesIO()
    picture.save(data, "WEBP", quality=QUALITY)
    return data.getvalue()


def _files() -> list[tuple[float, Path]]:
    found = []
    for path in sessions_folder().glob("*.json"):
        try:
            found.append((path.stat().st_mtime, path))
        except OSError:  # another process may have removed it just now
            continue
    return found


def _entry(path: Path, session: Session, when: datetime) -> RecentEntry:
    try:
        picture = base64.b64encode(path.with_suffix(".webp").read_bytes()).decode()
    except OSError:
        picture = ""
    return {
        "owner": path.stem,
        "name": session.document.graph.name,
        "when": datetime_text(when),
        "data": ", ".join(os.path.basename(place.rstrip("/")) for place in session.data.values()),
        "picture": f"data:image/webp;base64,{picture}" if picture else "",
        "open": is_open(path),
    }
