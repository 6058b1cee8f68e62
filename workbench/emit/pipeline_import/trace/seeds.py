"""Split the seeds of a pipeline into the graph's seed and an offset for each node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from workbench.emit.core.seed_sequence import assigned_seeds
from workbench.emit.pipeline_import.trace.source_lines import Lines
from workbench.emit.pipeline_import.trace.traced import AutomaticCall, TracedOp
from workbench.graph.model import Settings
from workbench.graph.model.bounds import LARGEST_SEED, SETTINGS


@dataclass(frozen=True, slots=True)
class Seeds:
    """The graph's seed ``base``, and each call's offset, which is added to ``base``."""

    base: int
    own: Mapping[str, int]
    changed: Mapping[str, str]
    """Maps each call whose random values differ from those of the source code to the reason."""
    unseeded: tuple[str, ...] = ()
    """Calls without a seed in the source code, for which DALI chooses a new seed in each run."""


def assign_seeds(
    seedable: Sequence[TracedOp], ops: Sequence[TracedOp], lines: Lines, pipeline: int | None
) -> Seeds:
    """Choose the graph's seed and the seeds of its calls.

    Candidates for the graph's seed are the base that the source code uses (``seed=base + 3``), the
    pipeline's seed, and all seeds in use. The first candidate with which the most seeds can be
    represented is chosen. Calls without a seed get the seed that DALI derives from the pipeline's
    seed or, if the pipeline has no seed, any unused seed.

    Parameters
    ----------
    seedable:
        All calls with a seed argument, in DALI's registration order.
    ops:
        Calls that a graph can represent, in source order.
    """
    explicit = {op.name: seed for op in seedable if (seed := _explicit_seed(op)) is not None}
    if pipeline is not None:
        without = [op.name for op in seedable if op.name not in explicit]
        sequence = assigned_seeds(pipeline)
        derived = {name: sequence[n % len(sequence)] for n, name in enumerate(without)}
    else:
        derived = {}
    meant = {op.name: (explicit | derived).get(op.name) for op in ops}
    known = [seed for seed in meant.values() if seed is not None]
    base = _base_seed(ops, lines, explicit, pipeline, known)
    own: dict[str, int] = {}
    changed: dict[str, str] = {}
    unseeded: list[str] = []
    for op in ops:
        seed = meant[op.name]
        term = lines.seed_term(op) if seed is None and "sampled" in op.display else None
        if term is not None and explicit and term not in own.values():
            own[op.name] = term
        elif term is not None:
            changed[op.name] = "its seed is known only when the program runs: its order differs"
        elif seed is not None and 0 <= seed - base <= LARGEST_SEED:
            own[op.name] = seed - base
        elif seed is not None:
            changed[op.name] = (
                f"its seed {seed} cannot be derived from the graph's {base}: it got another one, "
                "so random values differ"
            )
        elif _seed_has_effect(op):
            unseeded.append(op.name)
    free = _unused_seeds(set(own.values()))
    for op in ops:
        if op.name not in own:
            own[op.name] = next(free)
    return Seeds(base, own, changed, tuple(unseeded))


def automatic_changes(
    seedable: Sequence[TracedOp],
    automatic: Mapping[str, AutomaticCall],
    pipeline: int | None,
    base: int,
) -> dict[str, str]:
    """Map each automatic augmentation whose random values change to the reason.

    In the graph, all other calls have seeds of their own, so DALI assigns seeds to automatic
    augmentation only.
    """
    if pipeline is None:  # it uses the graph's seed, whereas the source has another one each time
        return {}
    if base != pipeline:
        why = f"the graph's seed is {base}, the pipeline's {pipeline}: its random values differ"
        return dict.fromkeys(automatic, why)
    caller = {name: made for made, call in automatic.items() for name in call.draws}
    without = [op.name for op in seedable if _explicit_seed(op) is None]
    alone = [name for name in without if name in caller]
    moved = {caller[name] for name, here in zip(alone, without, strict=False) if name != here}
    later = alone[next((i for i, n in enumerate(alone) if caller[n] in moved), len(alone)) :]
    why = "earlier calls without a seed have their own seeds here: its random values differ"
    return dict.fromkeys((caller[name] for name in later), why)


def _base_seed(
    ops: Sequence[TracedOp],
    lines: Lines,
    explicit: Mapping[str, int],
    pipeline: int | None,
    seeds: Sequence[int],
) -> int:
    """Return the graph's seed: the first candidate with which most seeds can be represented."""
    terms = {op.name: lines.seed_term(op) for op in ops if op.name in explicit}
    candidates = [
        *(explicit[name] - term for name, term in terms.items() if term is not None),
        *([] if pipeline is None else [pipeline]),
        *sorted(seeds),
        Settings().seed,
    ]
    least, most = SETTINGS["seed"]
    allowed = [base for base in dict.fromkeys(candidates) if least <= base <= most]
    return max(
        allowed or [Settings().seed],
        key=lambda base: sum(0 <= seed - base <= LARGEST_SEED for seed in seeds),
    )


def _explicit_seed(op: TracedOp) -> int | None:
    """Return a call's seed in the source code, or None. DALI treats -1 like any other seed."""
    seed = op.args.get("seed")
    return seed if isinstance(seed, int) else None


def _seed_has_effect(op: TracedOp) -> bool:
    """Return True if a call's seed has an effect. A reader's seed has one only if it shuffles."""
    reader = op.schema.startswith(("readers__", "experimental__readers__"))
    return not reader or any(
        op.args.get(name) for name in ("random_shuffle", "shuffle_after_epoch")
    )


def _unused_seeds(taken: set[int]) -> Iterator[int]:
    return (number for number in range(LARGEST_SEED + 1) if number not in taken)
