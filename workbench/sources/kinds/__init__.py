"""The kinds of sources, in groups. A module whose name begins with an underscore is no kind."""
