"""Tokens for which a model has no embeddings are no fault of its file, unless the reference is another model's."""

from dataclasses import replace
from pathlib import Path

import pytest

from support.limits import added, assert_different, assert_limit, bpe_document, verify, write_json
from support.spec_maker import CONTROL, USER_DEFINED, bpe_spec
from tokverify.case import Case
from tokverify.compare.opened import Opened
from tokverify.references import open_reference
from tokverify.repair.fix.fixing import make_plan, to_report
from tokverify.report.fix import fix_exit_code
from tokverify.sources.gguf.declaration import Declaration
from tokverify.spec import TokenizerSpec, TokenType

NORMAL = TokenType.NORMAL.value
MARKERS = {"<bos>": CONTROL, "<|im_end|>": CONTROL}
SHARED = bpe_spec(["a b"], MARKERS, special_ids={"eos": 258})
ROWS = len(SHARED.tokens)
MOVED = replace(bpe_spec(["a b"], {"<bos>": CONTROL, "<image>": CONTROL}), embedding_rows=ROWS)
TEXTS = ("ab<image>b", "<image>", "ab")


def reference(tmp_path: Path, more: dict[str, int], **fields: object) -> Path:
    """Write a tokenizer.json, and its configuration, that has more tokens than the model."""
    right = bpe_spec(["a b"], {**MARKERS, **more}, **{"special_ids": SHARED.special_ids, **fields})
    types = list(enumerate(right.types or ()))
    tokens = [added(id, right.tokens[id], special=type == CONTROL) for id, type in types if type != NORMAL]
    write_json(
        tmp_path / "tokenizer_config.json",
        {f"{role}_token": right.tokens[id] for role, id in right.special_ids.items()},
    )
    return write_json(tmp_path / "tokenizer.json", bpe_document(right, tokens))


@pytest.mark.parametrize("type", [CONTROL, USER_DEFINED])
def test_an_added_token_beyond_the_embeddings_is_a_limit(tmp_path: Path, type: int):
    model = replace(SHARED, embedding_rows=ROWS)
    report = verify(model, reference(tmp_path, {"<image>": type}), TEXTS)
    assert_limit(report, "TL026")
    (missing,) = (found for found in report.differences if found.aspect == "missing")
    assert (missing.severity.name, missing.origin, list(missing.ids)) == ("INFO", "runtime", [ROWS])
    assert f"the model has only {ROWS} embeddings" in missing.message


def test_an_end_that_the_chat_template_does_not_use_is_a_limit(tmp_path: Path):
    document = reference(tmp_path, {"<end_of_utterance>": CONTROL})
    template = "{% for m in messages %}{{ '<bos>' + m['content'] + '<|im_end|>' }}{% endfor %}"
    (tmp_path / "chat_template.jinja").write_text(template)
    assert_limit(verify(replace(SHARED, embedding_rows=ROWS), document, ["a<end_of_utterance>b", "ab"]), "TL026")


@pytest.mark.parametrize(("rows", "is_limit"), [(ROWS, True), (ROWS + 1, False)])
def test_the_config_beside_the_reference_counts_the_embeddings_of_a_file_without_tensors(
    tmp_path: Path, rows: int, is_limit: bool
):
    write_json(tmp_path / "config.json", {"vocab_size": rows})
    report = verify(SHARED, reference(tmp_path, {"<image>": CONTROL}), TEXTS)
    if is_limit:
        assert_limit(report, "TL026")
    else:
        assert_different(report)


@pytest.mark.parametrize(
    ("model", "more", "fields"),
    [
        # A file without tensors says nothing, and one with a spare row could have the token.
        (SHARED, {"<image>": CONTROL}, {}),
        (replace(SHARED, embedding_rows=ROWS + 1), {"<image>": CONTROL}, {}),
        # Nothing ends without it.
        (replace(SHARED, embedding_rows=ROWS), {"<image>": CONTROL}, {"special_ids": {"eos": ROWS}}),
        (replace(SHARED, embedding_rows=ROWS), {"<image>": CONTROL, "<|eot_id|>": CONTROL}, {}),
        # The model has it, but elsewhere.
        (MOVED, {"<image>": CONTROL}, {}),
        # It is a word.
        (replace(SHARED, embedding_rows=ROWS), {"<image>": CONTROL, "abab": NORMAL}, {}),
    ],
)  # fmt: skip
def test_other_missing_tokens_are_faults(
    tmp_path: Path, model: TokenizerSpec, more: dict[str, int], fields: dict[str, object]
):
    assert_different(verify(model, reference(tmp_path, more, **fields), TEXTS))


def test_nothing_is_repaired_that_no_file_can_have(tmp_path: Path):
    found = open_reference(reference(tmp_path, {"<image>": CONTROL}))
    declaration = Declaration(spec=replace(SHARED, embedding_rows=ROWS))
    cases = [Case(id="image", suite="s", text="ab<image>b", parse_special=True)]
    plan = make_plan(Path("model.gguf"), declaration, Opened(found.tokenizer, found.path), cases)
    assert plan.change is None
    assert fix_exit_code(to_report(plan)) == 0
