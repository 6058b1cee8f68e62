"""Define the result of a comparison of two pipelines."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from workbench.figures import new_axes
from workbench.names import join_words, shortened
from workbench.pipeline_difference.waterfall import Share
from workbench.results import Cell, DocumentedResult, ResultDocument, ResultPicture, ResultTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure


VISIBLE = 1e-2
"""Minimum difference in 8-bit levels of an image that counts as different; less is rounding."""
RandomState = Literal["", "equal", "not compared"]
_MOST_ARGUMENTS = 5
_LONG = 70
"""Maximum number of characters in a table cell with code."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A change of arguments that reduces the difference, verified by running the pipeline with it.

    ``kind`` is the cause, such as ``antialias``; ``side`` is A or B, and ``change`` is the call
    with the new value. ``alternative`` is an equally good change of the other side, or empty.
    ``share`` is the fraction of the explained difference. ``before`` and ``after`` are the mean
    differences in 8-bit levels without and with this change; the other causes are applied in both.
    """

    kind: str
    side: str
    change: str
    share: float
    before: float
    after: float
    alternative: str = ""


def _calls_text(calls: Sequence[str]) -> str:
    """Return calls as the text of a table cell; the arguments of long calls are omitted."""
    found = "; ".join(calls)
    if len(found) > _LONG:
        found = "; ".join(f"{call.partition('(')[0]}(…)" for call in calls)
    return shortened(found, _LONG)


@dataclass(frozen=True, slots=True)
class ModelChange:
    """Effect of the difference on a model's predictions for ``images`` images.

    ``changed`` is the number of images whose top-1 class changes, and ``largest`` is the largest
    change of a logit. ``nan`` lists the images for which the model returned NaN; they do not count
    as changed.
    """

    images: int
    changed: int
    largest: float
    nan: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class PipelineDifference(DocumentedResult):
    """Difference of two pipelines on a data set, and its causes.

    ``mean`` and ``largest`` are in 8-bit levels. For float outputs, a level is derived from the
    normalisation, or else from the contrast of the decoded pixels. ``mean`` is NaN if nothing was
    compared. ``rest`` is the mean difference that remains after the changes of all ``causes``.
    ``steps`` divide the difference among the parts of the pipelines. ``failed`` maps each failed
    file to the reason, and ``sizes`` is the number of images whose shapes differ.

    ::

        graph = wb.read("photos").decode().resize(size=(64, 64))
        found = wb.diff(graph, graph["resize"].set(antialias=False), "photos", samples=8)
        assert [cause.kind for cause in found.causes] == ["antialias"]
    """

    names: tuple[str, str]
    images: int
    total: int
    mean: float
    largest: float
    rest: float
    causes: tuple[Cause, ...]
    steps: tuple[Share, ...]
    sizes: int
    shapes: str
    failed: tuple[tuple[str, str], ...]
    worst: tuple[tuple[str, float], ...]
    pictures: tuple[ResultPicture, ...]
    model: ModelChange | None = None
    notes: tuple[str, ...] = ()
    searched: int = 0
    interrupted: bool = False
    """True if the run was interrupted before all images were compared."""
    not_compared: tuple[str, ...] = ()
    """Parts that could not run on this machine and were replaced, such as mixed decoding."""
    different: int = 0
    """Number of images that differ."""
    not_finite: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Images for which A or B returns NaN or infinite values. ``mean`` excludes an image if only
    one side returns such values.
    """
    random: RandomState = ""
    """Whether both sides have equal random arguments; empty if no random values were fixed."""
    arguments: tuple[str, ...] = ()
    """Differences between the arguments and nodes of two graphs."""

    @property
    def differ(self) -> bool:
        """True if a compared image differs in its shape, or by more than rounding errors."""
        return self.different > 0

    @property
    def equal(self) -> bool:
        """True if everything was compared, and no image differs by more than rounding errors.

        Always False if random values were fixed and the random arguments were not compared.
        """
        incomplete = self.failed or self.interrupted or self.not_compared
        known = self.random != "not compared"
        return self.images > 0 and known and not incomplete and not self.differ

    def document(self) -> ResultDocument:
        """Return the result as sentences, tables and pictures."""
        a, b = self.names
        tables = (self._cause_table(), self._step_table(), self._worst_table())
        return ResultDocument(
            "diff",
            f"{a} and {b}",
            tuple(self._sentences()),
            tuple(each for each in tables if each.rows),
            self.pictures,
        )

    def _sentences(self) -> list[str]:
        found = [self._verdict()]
        if self.causes:
            rest = f"{self.rest:.2f} of 255 on average"
            decoder = any(each.name == "decode" and each.mean > 0 for each in self.steps)
            where = " The table of steps shows where it arises." if decoder else ""
            found.append(
                f"With these changes the difference is {rest}."
                if self.rest > 0.02
                else "With these changes both are equal, except for rounding."
            )
            found[-1] += where if self.rest > 0.02 else ""
        elif self.differ:
            found.append(
                f"No {'other ' * bool(self.arguments)}change of arguments explains the difference "
                f"({self.searched} were tried)."
                if self.searched
                else "Causes were not searched, because the difference is below 0.02 of 255."
                if self.mean < 0.02 and not self.not_finite
                else "Causes were not searched."
            )
        if self.sizes:
            found.append(
                f"The shapes differ for {self.sizes} of {self.images} images: {self.shapes}."
            )
        if self.failed:
            named = "; ".join(f"{file}: {why}" for file, why in self.failed[:3])
            more = f"; and {len(self.failed) - 3} more" if len(self.failed) > 3 else ""
            found.append(f"Images that could not be compared: {len(self.failed)} ({named}{more}).")
        if self.model is not None:
            found.append(self._model_sentence(self.model))
        return [*found, *self.notes]

    def _verdict(self) -> str:
        count = f"{self.images:,} image{'s' * (self.images != 1)}"
        if not self.images:
            return "No image could be compared."
        fixed = " with fixed random values" * bool(self.random)
        others = self._argument_sentences()
        if not self.differ:
            missing = f"{join_words(self.not_compared)} was not compared" * bool(self.not_compared)
            if self.failed or self.interrupted:
                missing = "not all images were compared"
            text = f"The pixels are the same for {count}{fixed}, but {missing}"
            if not missing:
                text = f"Both pipelines return the same pixels for {count}{fixed}"
            text += {
                "": "",
                "equal": "; the random arguments are equal",
                "not compared": "; ranges and probabilities were not compared",
            }[self.random]
            return " ".join((f"{text}.", *others))
        amount = f": {self.mean:.2f} of 255 on average, {self.largest:.0f} at most"
        if self.different < self.images:
            count = f"{self.different:,} of {count}"
            which = "images with finite values" if self.not_finite else "all images"
            amount = amount.replace("average", f"average of {which}")
        if math.isnan(self.mean) or (self.not_finite and self.largest < VISIBLE):
            amount = ""
        changes = (f"Cause: {c.kind}; change {c.side} to {c.change}." for c in self.causes)
        return " ".join((f"The pipelines differ for {count}{fixed}{amount}.", *others, *changes))

    def _argument_sentences(self) -> list[str]:
        """Return sentences about values that are not finite, and about arguments of two graphs."""
        found = [
            f"{label} returns NaN or infinite values for {len(names):,} of {self.images:,} images, "
            f"such as {names[0]}."
            for label, names in self.not_finite.items()
        ]
        if self.arguments:
            listed = [*self.arguments[:_MOST_ARGUMENTS]]
            more = len(self.arguments) - len(listed)
            listed += [f"{more} more"] * (more > 0)
            found.append(f"The graphs differ in {join_words(listed)}.")
        return found

    def _model_sentence(self, change: ModelChange) -> str:
        count = change.images - len(change.nan)
        text = (
            f"The model returned NaN for {len(change.nan):,} of {change.images:,} images, such as "
            f"{change.nan[0]}; they are not counted. "
            if change.nan
            else ""
        )
        if count:
            text += (
                f"The model predicts another class for {change.changed:,} of {count:,} images "
                f"({change.changed / count:.1%}); the largest change of a logit is "
                f"{change.largest:.3g}."
            )
        return text.rstrip()

    def _cause_table(self) -> ResultTable:
        either = any(c.alternative for c in self.causes)
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (c.kind, c.side, c.change, *[c.alternative] * either, c.share, c.before, c.after)
            for c in self.causes
        )
        columns = ("cause", "side", "change", *["or"] * either, "share", "without it", "with it")
        return ResultTable("Causes (mean difference in 8-bit levels)", columns, rows)

    def _step_table(self) -> ResultTable:
        total = sum(each.mean for each in self.steps) or 1.0
        sized = any(each.sizes for each in self.steps)
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (
                each.name, *(round(v, 4) for v in (each.mean, each.largest, each.mean / total)),
                _calls_text(each.ours), _calls_text(each.theirs), *[each.sizes] * sized,
            )
            for each in self.steps
        )  # fmt: skip
        columns = ("step", "mean", "largest", "share", "A", "B", *["shapes"] * sized)
        return ResultTable("Difference by step, swapping only this step", columns, rows)

    def _worst_table(self) -> ResultTable:
        rows = tuple(self.worst) if self.differ else ()
        return ResultTable("Images with the largest difference", ("image", "mean"), rows)

    def plot(self) -> Figure:
        """Return a matplotlib figure of the difference by step.

        ::

            graph = wb.read("photos").decode().resize(size=(64, 64))
            other = graph["resize"].set(antialias=False)
            figure = wb.diff(graph, other, "photos", samples=8).plot()
        """
        figure, axes = new_axes(0.8 + 0.4 * len(self.steps))
        names = [each.name for each in self.steps]
        axes.barh(names, [each.mean for each in self.steps], color="#6b7f99")
        axes.invert_yaxis()
        axes.set_xlabel("mean difference, 8-bit levels", fontsize=8)
        axes.tick_params(labelsize=8)
        figure.suptitle(f"{self.names[0]} and {self.names[1]}", fontsize=9)
        return figure

    def to_frame(self) -> Any:
        """Return a pandas data frame with a row per cause, or per step if there is no cause.

        ::

            graph = wb.read("photos").decode().resize(size=(64, 64))
            other = graph["resize"].set(antialias=False)
            print(wb.diff(graph, other, "photos", samples=8).to_frame())

        Raises ImportError if pandas is not installed.
        """
        return DocumentedResult.to_frame(self)
