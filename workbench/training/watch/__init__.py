"""Measure a training loop: how long it waits for data, and its speed if data took no time."""
