"""Measure a training loop: the time it waits for data, and its speed if data took no time."""
