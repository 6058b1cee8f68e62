"""Find the contents of a data folder, and the files that cannot be used."""

from workbench.health.check import FolderCheck, check_folder
from workbench.health.scan import FolderFacts, scan_folder

__all__ = ["FolderCheck", "FolderFacts", "check_folder", "scan_folder"]
