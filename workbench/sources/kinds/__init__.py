"""The kinds of sources, in groups, with what can be wrong with files. No underscore: a kind."""
