"""Compare a specification with a reference, and check which limits explain what differs."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tokverify.case import Case
from tokverify.compare.comparison import verify_tokenizers
from tokverify.compare.opened import Opened
from tokverify.engine.encoder import Encoder
from tokverify.references import open_reference
from tokverify.report.run import Report
from tokverify.report.tokenizer_difference import Verdict
from tokverify.spec import TokenizerSpec

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}


def verify(
    spec: TokenizerSpec, path: Path, texts: Sequence[str], *, strict: bool = False, add_special: bool = False
) -> Report:
    """Compare texts, with special tokens parsed and not."""
    cases = [
        Case(id=f"{index}-{parse_special}", suite="s", text=text, parse_special=parse_special, add_special=add_special)
        for index, text in enumerate(texts)
        for parse_special in (True, False)
    ]
    found = open_reference(path)
    facts = Opened(found.tokenizer, found.path)
    return verify_tokenizers(Encoder(spec), found.tokenizer, cases, fail_on=(), facts=facts, strict=strict)


def explained(report: Report) -> set[str]:
    """Return the codes of the limits that explain cases, all of which must be explained."""
    assert [result.case.text for result in report.results if result.fails] == []
    return {code for result in report.results for code in result.explained_by}


def assert_limit(report: Report, *codes: str) -> None:
    """Check that exactly these limits explain whatever differs, and that the report is faithful."""
    assert explained(report) == set(codes)
    assert [limit.code for limit in report.limits] == sorted(codes)
    assert (report.verdict, report.exit_code) == (Verdict.FAITHFUL, 0)


def assert_equal(report: Report) -> None:
    """Check that no id differs, and nothing else that would fail."""
    assert [result.case.text for result in report.results if result.actual != result.expected] == []
    assert (report.verdict, report.exit_code) == (Verdict.EQUAL, 0)


def assert_different(report: Report) -> None:
    """Check that no limit hides a fault."""
    assert any(result.fails for result in report.results)
    assert (report.verdict, report.exit_code) == (Verdict.DIFFERENT, 1)


def write_json(path: Path, document: Mapping[str, Any]) -> Path:
    path.write_text(json.dumps(document))
    return path


def added(id: int, text: str, *, special: bool = True, **flags: bool) -> dict[str, Any]:
    usual = {"single_word": False, "normalized": False, "lstrip": False, "rstrip": False}
    return {"id": id, "content": text, "special": special, **usual, **flags}


def bpe_document(spec: TokenizerSpec, tokens: Sequence[dict[str, Any]] = (), **changes: Any) -> dict[str, Any]:
    """Return the tokenizer.json of a byte-level specification, with changes to its stages and its model."""
    texts = {token["content"] for token in tokens}
    model = {
        "type": "BPE",
        "vocab": {token: id for id, token in enumerate(spec.tokens) if token not in texts},
        "merges": list(spec.merges or ()),
        **changes.pop("model", {}),
    }
    return {
        "version": "1.0",
        "added_tokens": list(tokens),
        "normalizer": None,
        "pre_tokenizer": BYTE_LEVEL,
        "post_processor": None,
        "decoder": BYTE_LEVEL,
        **changes,
        "model": model,
    }
