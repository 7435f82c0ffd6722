"""Diagnosis: the smallest change to a tokenizer's settings that makes it agree with its reference.

A new kind of change is one generator in `tokverify.diagnosis.counterfactual`.
"""

from tokverify.diagnosis.change import TokenizerChange
from tokverify.diagnosis.facts import Facts, facts_of
from tokverify.diagnosis.search import DiagnosisResult, diagnose

__all__ = ["DiagnosisResult", "Facts", "TokenizerChange", "diagnose", "facts_of"]
