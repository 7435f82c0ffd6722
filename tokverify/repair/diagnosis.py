"""Find the smallest change to a tokenizer that makes it agree with its reference."""

from tokverify.repair.change import TokenizerChange
from tokverify.repair.declared_change import declared_changes
from tokverify.repair.search import DiagnosisResult, diagnose

__all__ = ["DiagnosisResult", "TokenizerChange", "declared_changes", "diagnose"]
