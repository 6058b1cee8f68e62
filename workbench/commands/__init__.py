"""Parts of the command line that would make ``cli.py`` too long."""
