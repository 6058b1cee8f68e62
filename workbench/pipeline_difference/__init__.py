"""Compare two pipelines on a data set and find the arguments that make them equal."""

from workbench.pipeline_difference.comparison import diff
from workbench.pipeline_difference.result import Cause, ModelChange, PipelineDifference

__all__ = ["Cause", "ModelChange", "PipelineDifference", "diff"]
