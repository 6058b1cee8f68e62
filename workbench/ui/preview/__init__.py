"""Preview: contact sheet, close-up, effects, comparison, statistics, verification."""
