"""What is assumed for a parameter, or a setting, that an import needs and nobody gives.

Well-known names have usual values: the side of a crop is 224, ImageNet's mean and deviation stand
for others. What else is only handed to an operator of DALI takes that argument's default. Each is
told by the report, and can be given by ``--arg``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from workbench.catalog.spec import ArgSpec
from workbench.engine.assumed_values.parameter_uses import ParameterUses, identifiers, uses_of
from workbench.engine.assumed_values.stand_ins import StandIn, StandIns
from workbench.engine.assumed_values.written_calls import MISSING

ONE_PROCESS: Mapping[str, Any] = {
    **dict.fromkeys(("device_id", "local_rank", "rank", "global_rank", "shard_id", "gpu_id"), 0),
    **dict.fromkeys(("num_shards", "n_shards", "world_size", "num_gpus", "world", "n_gpus"), 1),
}
"""Values for one process: a graph reads one shard, whatever the script's own values are."""
NEUTRAL: Mapping[str, Any] = {
    **dict.fromkeys(("batch_size", "max_batch_size", "bs"), 16),
    **dict.fromkeys(("num_threads", "num_workers", "workers", "threads", "n_threads"), 4),
    **ONE_PROCESS,
    **dict.fromkeys(("seed", "local_seed"), 0),
    "py_num_workers": 1,
}
"""Values that do not depend on what is done with them."""
_PATHS = re.compile(
    r"(?!transform|aug)(.*_)?(dir|directory|root|path|paths|folder|file|files|filename|filenames|list|lmdb|db|rec|idx"
    r"|annotations|tfrecords?)(_path|_dir|_root)?|data|dataset|images|filenames|tfrec_.*",
    re.IGNORECASE,
)
_SEVERAL = re.compile(r"(.*_)?(files|paths|filenames|tfrecords)")
_CROPPED = frozenset(
    (
        *("crop", "crop_size", "crop_shape", "crop_h", "crop_w", "image_size", "img_size"),
        *("image_crop", "input_size", "target_size", "output_size", "imsize", "imgsz", "im_size"),
        *("height", "width", "image_height", "image_width", "img_height", "img_width"),
        *("input_height", "input_width", "image_shape", "input_shape", "data_shape"),
    )
)
_RESIZED = frozenset(
    (
        *("size", "resize", "resize_size", "val_size", "test_size", "resize_to", "scale_size"),
        *("resize_shorter", "resize_short", "short_size", "shorter_size", "short_side_size"),
        *("resize_x", "resize_y"),
    )
)
"""Sides from which a crop is cut, where there is one."""
CROP, RESIZE = 224, 256
_OF = r"((rgb|image|img|pixel|norm|imagenet|dataset)_)?"
_MEAN = re.compile(_OF + r"means?", re.IGNORECASE)
_STD = re.compile(_OF + r"(std|stds|stddev)", re.IGNORECASE)
_FRACTIONS = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}
_OF_BYTES = {"mean": (123.675, 116.28, 103.53), "std": (58.395, 57.12, 57.375)}
"""The same of pixels from 0 to 255."""
_YES = frozenset({"training", "is_training", "train", "is_train", "istrain", "train_mode"})
_NO = frozenset({"dali_cpu", "use_cpu", "cpu", "cpu_only", "fp16", "half", "debug"})
_TRAINING = ("train", "training", "TRAIN", "Train")
_BETWEEN_PIXELS = ("bilinear", "linear", "triangular")
_OTHERS: Sequence[tuple[frozenset[str], Any]] = (
    (frozenset({"device", "dali_device", "preprocessing_device", "decoder_device"}), "cpu"),
    (frozenset({"num_classes", "n_classes", "nb_classes", "classes_num"}), 1000),
    (frozenset({"sequence_length", "seq_len", "clip_length", "num_frames", "n_frames"}), 8),
)


@dataclass
class UsualValues:
    """What is assumed for what nobody gives."""

    texts: Sequence[ast.AST | None] = ()
    """Of code that may use it, nearest first."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """The values that the script's own command line has for what it is not told."""
    assumed: dict[str, Any] = field(default_factory=dict)
    """What was assumed so far, also while the pipeline is made: a configuration is asked then."""
    replaced: dict[str, Any] = field(default_factory=dict)
    """The script's own values that an assumed value of ``ONE_PROCESS`` replaces, by name."""

    def find(self, name: str, told_as: str = "") -> Any:
        """The usual value of a parameter of that name, noted as ``told_as``, else MISSING."""
        value = self._value(name)
        if value is not MISSING:
            self.assumed[told_as or name] = value
            self.note_own_value(told_as or name, self.defaults.get(name, MISSING))
        return value

    def note_own_value(self, name: str, own: Any) -> None:
        """Record the script's own value of an assumed name, if it is another one."""
        is_known = own is not MISSING and own is not None and own != -1  # -1: the launcher's value
        if is_known and own != self.assumed.get(name, own):
            self.replaced[name] = own

    def setting(self, stand_ins: StandIns) -> Callable[[str], Any]:
        """What a configuration has under a dotted name: a usual value, else what stands in."""

        def find(name: str) -> Any:
            value = self.find(name.rpartition(".")[2], name)
            return AskedSetting(stand_ins, name, find) if value is MISSING else value

        return find

    def uses(self, name: str) -> ParameterUses:
        """What the code does with a value of that name."""
        nothing = ParameterUses()
        found = (uses_of(name, text) for text in self.texts if text is not None)
        return next((each for each in found if each != nothing), nothing)

    def _value(self, name: str) -> Any:
        if name in ONE_PROCESS:
            return ONE_PROCESS[name]
        if name in self.defaults:
            return self.defaults[name]
        if name in NEUTRAL:
            return NEUTRAL[name]
        uses = self.uses(name)
        if uses.is_settings:
            return MISSING
        if _PATHS.fullmatch(name):
            return [name] if _SEVERAL.fullmatch(name) else name
        handed = [argument for argument, _ in uses.handed_to]
        for each in (name.lower(), *handed, *uses.within):
            value = self._by_name(each, uses)
            item = each in uses.within and isinstance(value, list)  # of mean=[mean, mean, mean]
            if value is not MISSING and not item:
                return value
        return _by_use(uses)

    def _by_name(self, name: str, uses: ParameterUses) -> Any:
        if name in _CROPPED or name in _RESIZED:
            cut = any(identifiers(text) & _CROPPED for text in self.texts[:1] if text is not None)
            side = RESIZE if name in _RESIZED and cut else CROP
            return _several(side, uses.items)
        for kind, pattern in (("mean", _MEAN), ("std", _STD)):
            if pattern.fullmatch(name):
                as_it_is = kind in [argument for argument, _ in uses.handed_to]
                return list((_OF_BYTES if as_it_is else _FRACTIONS)[kind])
        truth = uses.is_truth or any(spec and spec.kind == "bool" for _, spec in uses.handed_to)
        if truth and (name in _YES or name in _NO):
            return name in _YES
        return next((value for names, value in _OTHERS if name in names), MISSING)


def is_of_any_process(name: str) -> bool:
    """Whether it says which process runs, how fast, or on which data: not what is done to them."""
    return name in NEUTRAL or _PATHS.fullmatch(name) is not None


class AskedSetting(StandIn):
    """A value of a configuration that is not given; its parts are asked for by their names."""

    def __init__(self, owner: StandIns, name: str, setting: Callable[[str], Any]) -> None:
        """``setting`` gives what is found under a dotted name."""
        super().__init__(owner, name)
        self.__dict__["_setting"] = setting

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._setting(f"{self._name}.{name}")

    def __getitem__(self, key: object) -> Any:
        return getattr(self, key) if isinstance(key, str) else super().__getitem__(key)


def written(value: Any) -> str:
    """A value as Python writes it; a member of DALI's enumerations as ``types.NAME``."""
    member = getattr(value, "name", None)
    return f"types.{member}" if isinstance(member, str) else repr(value)


def _several(side: int, items: int) -> Any:
    if not items:
        return side
    return (*([3] if items == 3 else []), side, side)  # three are channels, rows, columns


def _by_use(uses: ParameterUses) -> Any:
    for texts in (_TRAINING, _BETWEEN_PIXELS):
        for text in texts:
            if text in uses.texts:
                return text
    if uses.texts:
        return MISSING
    for _, spec in uses.handed_to:
        if spec is not None and spec.default is not None:
            return _default_of(spec)
    return MISSING


def _default_of(spec: ArgSpec) -> Any:
    value = spec.default
    if spec.enum is not None and isinstance(value, str):
        return getattr(import_module("nvidia.dali.types"), value)
    return list(value) if isinstance(value, tuple) else value
