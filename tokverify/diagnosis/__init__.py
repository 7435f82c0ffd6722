"""Diagnosis: the smallest change to a tokenizer's settings that makes it agree with its reference.

A new kind of change is one generator in `tokverify.diagnosis.counterfactual`.
"""

from tokverify.diagnosis.change import Change
from tokverify.diagnosis.facts import Facts, facts_of
from tokverify.diagnosis.search import diagnose
from tokverify.report.diagnosis import Diagnosis, Explanation

__all__ = ["Change", "Diagnosis", "Explanation", "Facts", "diagnose", "facts_of"]
