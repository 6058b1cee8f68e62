"""All kinds of measurements: compare, scale, sweep, tune, stages, operators."""
