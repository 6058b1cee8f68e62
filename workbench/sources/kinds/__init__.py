"""The kinds of sources, in groups. A module without an underscore is a kind."""
