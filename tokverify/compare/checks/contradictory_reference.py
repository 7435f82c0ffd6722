"""TV208: a reference whose own files contradict each other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tokverify.compare.behavior import ids_around
from tokverify.compare.rule import rule
from tokverify.compare.subject import NotEvaluatedError, Subject
from tokverify.errors import TokverifyError
from tokverify.report.finding import WARNING, Finding
from tokverify.sources.config import token_text
from tokverify.spec import TokenizerSpec
from tokverify.text.wording import list_tokens, plural, quote
from tokverify.tokenizer import DocumentHolding


@rule(code="TV208", name="contradictory-reference", severity=WARNING)
def contradictory_reference(subject: Subject) -> Iterator[Finding]:
    """Expect the files of the reference to agree with each other.

    What it does:
        Compares tokenizer.json with the tokenizer_config.json and the sentencepiece model beside it: the tokens around
        a text, the EOS token, lowercasing, the space before a text, and the pieces.

    Why it is bad:
        Which of two contradicting files is used depends on the program and its version, so there is no correct answer
        to compare the GGUF file with.

    Example:
        e5-mistral has `add_eos_token` true in its tokenizer_config.json and no EOS in its post-processor; transformers
        4 and 5 interpret it differently.

    How to repair:
        Ask the publisher which one the model was trained with, and correct the other file.

    Threads:
        embeddings-benchmark/mteb#5237, lablup/mlxcel#1594, ggml-org/llama.cpp#8228, vllm-project/vllm#11184
    """
    model = _model_beside(subject)
    if not subject.config and model is None:
        raise NotEvaluatedError(
            "there is neither a tokenizer_config.json nor a sentencepiece model beside the reference"
        )
    yield from _check_affixes(subject)
    if isinstance(subject.expected, DocumentHolding):
        yield from _check_case(subject)
        if model is not None:
            yield from _check_pieces(subject, model)


def _check_affixes(subject: Subject) -> Iterator[Finding]:
    if not subject.expected.adds_special:
        return
    _, expected = ids_around(subject)
    for role, ids in zip(("bos", "eos"), expected, strict=True):
        flag = subject.config.get(f"add_{role}_token")
        if isinstance(flag, bool) and flag != bool(ids):
            does = "adds one" if ids else "adds none"
            yield Finding(
                WARNING, f"tokenizer_config.json has add_{role}_token {str(flag).lower()}, but the tokenizer {does}"
            )
        text = token_text(subject.config.get(f"{role}_token"))
        if text is not None and len(ids) == 1 and subject.expected.piece(ids[0]) != text:
            found = list_tokens(ids, {ids[0]: subject.expected.piece(ids[0])})
            yield Finding(
                WARNING, f"tokenizer_config.json has {role}_token {quote(text)}, but the tokenizer adds {found}"
            )


def _check_case(subject: Subject) -> Iterator[Finding]:
    flag = subject.config.get("do_lower_case")
    lowers = any(
        stage["type"] == "Lowercase" or (stage["type"] == "BertNormalizer" and stage["lowercase"])
        for stage in subject.document.normalizer
    )
    if isinstance(flag, bool) and flag != lowers:
        does = "lowercases" if lowers else "does not lowercase"
        yield Finding(WARNING, f"tokenizer_config.json has do_lower_case {str(flag).lower()}, but the tokenizer {does}")


def _model_beside(subject: Subject) -> Path | None:
    name = subject.path.name
    if not name.endswith("tokenizer.json"):
        return None
    path = subject.path.with_name(name.removesuffix(".json") + ".model")
    return path if path.is_file() else None


def _check_pieces(subject: Subject, path: Path) -> Iterator[Finding]:
    from tokverify.sources.sentencepiece.reader import read_spec

    try:
        model = read_spec(path)
    except TokverifyError as error:
        raise NotEvaluatedError(str(error)) from error
    other = [id for id, piece in enumerate(model.tokens) if not _is_same(subject, id, piece)]
    if other:
        shown = list_tokens(other, model.tokens)
        message = f"{plural(len(other), 'piece')} of {path.name} differ from tokenizer.json: {shown}"
        yield Finding(WARNING, message, ids=tuple(other))
    yield from _check_prefix(subject, model, path)


def _is_same(subject: Subject, id: int, piece: str) -> bool:
    return subject.expected.piece(id).replace("▁", " ") == piece.replace("▁", " ")


def _check_prefix(subject: Subject, model: TokenizerSpec, path: Path) -> Iterator[Finding]:
    ids = subject.expected.encode("a", add_special=False, parse_special=False)
    prefixed = bool(ids) and subject.expected.piece(ids[0]).startswith("▁")
    if prefixed != model.add_space_prefix:
        declared = str(model.add_space_prefix).lower()
        message = f"{path.name} has add_dummy_prefix {declared}, but tokenizer.json does the opposite"
        yield Finding(WARNING, message)
