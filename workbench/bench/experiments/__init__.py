"""Experiments: compare devices and libraries, scale, sweep, tune, time stages and operators."""
