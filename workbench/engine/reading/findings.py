"""Define the kinds of findings in files, and their severity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["bad", "damaged", "unusual"]
"""Severity of a finding.

``bad``: an exported program stops at the file, because DALI cannot read or decode it, or because
image and mask differ in size. ``damaged``: DALI decodes the file, but a decoder warned, the pixels
are wrong, or the annotations were made for a different image size. ``unusual``: the file is
correct, but unusual.
"""

KINDS: dict[str, Level] = {
    "missing": "bad",
    "unreadable": "bad",
    "empty": "bad",
    "zeros": "bad",
    "not an image": "bad",
    "not for DALI": "bad",
    "bomb": "bad",
    "cut short": "bad",
    "undecodable": "bad",
    "other size": "bad",
    "crashes the decoder": "bad",
    "of no sample": "bad",
    "damaged": "damaged",
    "wrong pixels": "damaged",
    "not finite": "damaged",
    "annotated size": "damaged",
    "large": "unusual",
    "wrong ending": "unusual",
    "16 bit": "unusual",
    "palette": "unusual",
    "alpha": "unusual",
    "CMYK": "unusual",
    "EXIF turned": "unusual",
    "animated": "unusual",
    "other colours": "unusual",
    "float sound": "unusual",
    "odd metadata": "unusual",
    "line break": "unusual",
    "box": "unusual",
    "duplicate": "unusual",
    "near duplicate": "unusual",
}


MISREAD = frozenset({"wrong pixels", "other colours", "float sound"})
"""Kinds of findings for files that DALI decodes to wrong values without an error."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem found in a file: its kind (one of ``KINDS``) and an explanation."""

    kind: str
    reason: str

    @property
    def level(self) -> Level:
        return KINDS[self.kind]


LINE_BREAK = Finding(
    "line break", "a line break in its path, which a list of files cannot contain: rename it"
)


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """Result of checking one file.

    ``file`` is the name that the reader receives, ``size`` is in bytes, ``modified`` in nanoseconds
    since 1970 (both are 0 if unknown). ``image_hash`` (``file_check.image_hash``) is empty if the
    file was not decoded, or if the image is too uniform to compare.
    """

    file: str
    size: int = 0
    modified: int = 0
    findings: tuple[Finding, ...] = ()
    image_hash: bytes = b""

    @property
    def level(self) -> Level | None:
        """Severity of the worst finding, or None if there are no findings."""
        found = {finding.level for finding in self.findings}
        return next((level for level in ("bad", "damaged", "unusual") if level in found), None)

    @property
    def reason(self) -> str:
        """Texts of the findings with the worst severity, joined by semicolons."""
        return "; ".join(f.reason for f in self.findings if f.level == self.level)
