"""Read the frame header of a JPEG: coding process, size and chroma subsampling."""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass, replace
from typing import BinaryIO

_SAMPLINGS = {
    (1, 1): "4:4:4",
    (2, 1): "4:2:2",
    (2, 2): "4:2:0",
    (1, 2): "4:4:0",
    (4, 1): "4:1:1",
    (4, 2): "4:1:0",
    (2, 4): "4:1:0",
}
"""Name of each chroma subsampling, by the ratio of luma to chroma samples (horizontal, vertical).
"""


@dataclass(frozen=True, slots=True)
class JpegFrame:
    """Frame header of a JPEG (ITU-T T.81, B.2.2).

    ``process`` is the number n of the marker SOFn: 0 is baseline, 2 is progressive. ``factors``
    contains the horizontal and vertical sampling factors of each component. ``in_one_scan`` is True
    if the first scan contains all components.
    """

    process: int
    bits: int
    width: int
    height: int
    factors: tuple[tuple[int, int], ...]
    in_one_scan: bool

    @property
    def sampling(self) -> str:
        """Chroma subsampling, such as 4:2:0; ``grey`` for one component, empty if unknown."""
        if len(self.factors) == 1:
            return "grey"
        (across, down), *chroma = self.factors
        if len(chroma) != 2 or chroma[0] != chroma[1] or 0 in chroma[0]:
            return ""
        (wide, high), _ = chroma
        if across % wide or down % high:
            return ""
        return _SAMPLINGS.get((across // wide, down // high), "")


def read_jpeg_frame(file: BinaryIO) -> JpegFrame | None:
    """Return the frame header of the JPEG in ``file`` (from position 0), or None if it has none."""
    file.seek(2)
    frame: JpegFrame | None = None
    while len(marker := file.read(2)) == 2 and marker[0] == 0xFF:
        code = marker[1]
        if code == 0xFF:  # fill byte
            file.seek(-1, io.SEEK_CUR)
            continue
        if code == 0x01 or 0xD0 <= code <= 0xD8:  # no length
            continue
        size = file.read(2)
        if len(size) < 2:
            break
        body = file.read(int.from_bytes(size, "big") - 2)
        if 0xC0 <= code <= 0xCF and code not in (0xC4, 0xC8, 0xCC) and len(body) >= 6:
            bits, height, width, count = struct.unpack(">BHHB", body[:6])
            rows = [body[6 + 3 * i : 9 + 3 * i] for i in range(count)]
            if any(len(row) < 3 for row in rows):
                return None
            factors = tuple((row[1] >> 4, row[1] & 15) for row in rows)
            frame = JpegFrame(code - 0xC0, bits, width, height, factors, True)
        if code == 0xDA:
            if frame is None or not body:
                return None
            return replace(frame, in_one_scan=body[0] == len(frame.factors))
    return frame
