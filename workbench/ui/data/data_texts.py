"""Describe counted data for the Data panel: faults, formats, classes and sizes."""

from __future__ import annotations

import shlex

from workbench.catalog.extra_operators.python_decoder import COST
from workbench.engine.protocol.exit_status import printable
from workbench.health import FolderFacts
from workbench.health.scan import SAMPLE
from workbench.sources import Dataset, load_source


def fault_text(facts: FolderFacts, dataset: Dataset) -> str:
    """Describe unusable samples, implausible boxes, and images that do not match annotations."""
    place = shlex.quote(dataset.text or str(dataset))
    good, what = (
        ("good.txt", "save a list")
        if load_source(dataset.kind).lists_files
        else ("good", "write a folder")
    )
    masks = facts.targets == "masks"
    at_least = "At least " if facts.count > SAMPLE else ""
    parts = [f"{at_least}{facts.at_fault:,} of {facts.count:,} samples"] if facts.at_fault else []
    if facts.of_no_sample and masks:
        parts += [f"{facts.of_no_sample:,} file{'s' * (facts.of_no_sample > 1)} without a sample"]
    elif facts.of_no_sample:  # one entry may cover many annotations
        parts += ["entries without a sample" if parts else "Entries without a sample"]
    single = facts.at_fault + facts.of_no_sample == 1 and (facts.at_fault or masks)
    verb = "is" if single else "are"
    at_fault = (
        f"{' and '.join(parts)} {verb} unusable; the first: {printable(facts.first_fault)}. "
        "Verify and measurements skip them; an exported program may read them or stop. Export with "
        f"--skip-bad. To list them all and {what} of the usable samples, run `workbench check "
        f"{place} --good {good}`."
    )
    looked_at = min(facts.count, SAMPLE)
    other_size = (
        f"{facts.other_size:,} of {looked_at:,} checked images "
        f"{'differ' if facts.other_size > 1 else 'differs'} in size from the annotations; the "
        f"first: {printable(facts.first_other_size)}. Use Check files to list all."
    )
    odd_boxes = (
        f"{facts.odd_boxes:,} of {looked_at:,} checked images "
        f"{'have' if facts.odd_boxes > 1 else 'has'} a box beyond the edge or without area; the "
        f"first: {printable(facts.first_odd_box)}. Use Check files to list all."
    )
    texts = {at_fault: facts.first_fault, other_size: facts.other_size, odd_boxes: facts.odd_boxes}
    return " ".join(text for text, found in texts.items() if found)


def pillow_only_text(facts: FolderFacts) -> str:
    """Describe the files that are not read, such as images in formats that DALI cannot decode."""
    texts = list(facts.not_read)
    if facts.pillow_only:
        named = ", ".join(f"{count:,} {name}" for name, count in facts.pillow_only.items())
        texts.insert(0, f"{named}: DALI cannot decode these. decoders.pillow can, {COST}.")
    return " ".join(texts)


def counted_by_text(facts: FolderFacts) -> str:
    """Describe the class counts: ``boxes per class, in 400 images``; "" if images are counted."""
    if not facts.targets:
        return ""
    of = {"boxes": "boxes per class", "masks": "masks per class"}[facts.targets]
    of += f", in {facts.targets_of:,} images" if facts.targets_of else ""
    none = facts.without_targets
    return of + (f"; {none:,} image{'s have' if none > 1 else ' has'} none" if none else "")


def no_classes_text(facts: FolderFacts) -> str:
    """Return the reason why annotations are not counted by class; "" if they are."""
    if facts.unnamed:
        numbers = f"{facts.unnamed:,} class numbers without a name in {counted_by_text(facts)}"
        return f"not counted: {numbers}, such as instance ids or colours"
    if facts.targets and not facts.class_counts:
        return f"none: no {facts.targets} can be read"
    return ""


def sizes_text(facts: FolderFacts) -> str:
    """Return the smallest and largest image size as text; "" if unknown."""
    if facts.smallest is None or facts.largest is None:
        return ""
    ends = list(dict.fromkeys([facts.smallest, facts.largest]))
    about = "about " if facts.count > SAMPLE else ""
    return about + " … ".join(f"{width}×{height}" for width, height in ends)
