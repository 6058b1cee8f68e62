"""Compare two pipelines on a data set and find the arguments that make them equal."""

from workbench.pipeline_difference.comparison import diff
from workbench.pipeline_difference.result import Cause, ModelChange, PipelineDifference
from workbench.pipeline_difference.transforms import TransformComparison, compare_transforms

__all__ = [
    "Cause",
    "ModelChange",
    "PipelineDifference",
    "TransformComparison",
    "compare_transforms",
    "diff",
]
