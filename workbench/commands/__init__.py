"""The commands of ``workbench``, which ``cli.py`` registers."""
