"""Find the contents of a data folder, and the files that cannot be used."""

from workbench.health.check import FolderCheck, check_folder
from workbench.health.decoders import DecoderCoverage, decoder_coverage
from workbench.health.scan import FolderFacts, scan_folder

__all__ = [
    "DecoderCoverage",
    "FolderCheck",
    "FolderFacts",
    "check_folder",
    "decoder_coverage",
    "scan_folder",
]
