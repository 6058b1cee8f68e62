"""Devices, element types, layouts and shapes at every port, inferred without running."""
