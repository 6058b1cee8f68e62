"""Each kind of measurement: compare, scale, sweep, tune, stages, operators."""
