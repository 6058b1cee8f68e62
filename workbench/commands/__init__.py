"""The commands of ``workbench``, which are registered in ``cli.py``."""
