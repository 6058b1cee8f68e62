"""The values of a batch -> what the preview shows of them."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.preview import OutputStatistics
from workbench.preview.facts.statistics import ChannelStatistics
from workbench.ui.contract import preview_views as views


def statistics_entries(outputs: Sequence[OutputStatistics]) -> list[views.StatisticsEntry]:
    """One entry for each image output."""
    return [
        {
            "output": output.output,
            "dtype": output.dtype,
            "low": output.low,
            "high": output.high,
            "channels": channel_entries(output.channels),
            "samples": output.samples,
            "hint": output.hint,
        }
        for output in outputs
    ]


def channel_entries(channels: Sequence[ChannelStatistics]) -> list[views.ChannelStatistics]:
    """One entry for each channel."""
    return [
        {
            "counts": list(channel.counts),
            "mean": channel.mean,
            "deviation": channel.deviation,
            "smallest": channel.smallest,
            "largest": channel.largest,
            "not_finite": channel.not_finite,
        }
        for channel in channels
    ]
