"""Make explanations of a diagnosis."""

from tokverify.report.diagnosis import Explanation


def explanation(sentence: str = "x", **fields: object) -> Explanation:
    """Make an explanation of the only failing case, unless fields say otherwise; GGUF can express it."""
    usual = {"kind": "k", "explained": 1, "failing": 1, "unexplained": (), "expressible": True}
    return Explanation(sentence=sentence, **usual | fields)
