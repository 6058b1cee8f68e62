"""Audit a loader: check which samples and random values its epochs contain, and in which order."""

from workbench.training.audit.findings import Finding as Finding
from workbench.training.audit.result import Audit as Audit
from workbench.training.audit.run import audit as audit

__all__ = ["Audit", "Finding", "audit"]
