"""The commands of ``workbench``, which ``cli.py`` puts together."""
