"""Tests of dataset versions."""
