"""Measuring speed from a shell: bench, stages, tune, optimise, scale, compare, records."""

from workbench.commands.bench import bench
from workbench.commands.optimise import optimise
from workbench.commands.records import compare, records
from workbench.commands.scale import scale
from workbench.commands.stages import stages
from workbench.commands.tune import tune

COMMANDS = (bench, stages, tune, optimise, scale, compare, records)
