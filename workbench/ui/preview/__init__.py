"""The preview: contact sheet, close-up, effects, comparison, statistics, verification."""
