"""Render the preview: contact sheet, close-up, effects, comparison, statistics, verification."""
