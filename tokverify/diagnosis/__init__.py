"""Find the smallest change to a tokenizer that makes it agree with its reference."""

from tokverify.diagnosis.change import TokenizerChange
from tokverify.diagnosis.declared_change import declared_changes
from tokverify.diagnosis.facts import Facts
from tokverify.diagnosis.search import DiagnosisResult, diagnose

__all__ = ["DiagnosisResult", "Facts", "TokenizerChange", "declared_changes", "diagnose"]
