"""TV208: a reference whose own files contradict each other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tokverify.compare.contradiction import (
    adds_space,
    find_contradictions,
    find_other_vocabularies,
    model_beside,
    read_beside,
)
from tokverify.compare.rule import rule
from tokverify.compare.subject import NotEvaluatedError, Subject
from tokverify.report.finding import WARNING, Finding
from tokverify.sources.config import added_tokens, token_text
from tokverify.text.wording import list_tokens, plural
from tokverify.tokenizer import DocumentHolding

_FLAGS = ("lstrip", "rstrip", "single_word", "normalized")
_UNLIMITED = int(1e30)
"""What transformers writes as `model_max_length` if there is no limit."""


@rule(code="TV208", name="contradictory-reference", severity=WARNING)
def contradictory_reference(subject: Subject) -> Iterator[Finding]:
    """Expect the files of the reference to agree with each other.

    What it does:
        Compares tokenizer.json with the files beside it. With tokenizer_config.json: the tokens around a text (its
        flags, and the BOS that the chat template writes), the space before a text (`add_prefix_space` of Llama's class,
        and `legacy` beside a sentencepiece model), special tokens, ids and flags of added tokens, lowercasing, and
        where a text is cut off; and looks for `dropout`. With special_tokens_map.json and generation_config.json:
        special tokens, and the end of a generation. With a sentencepiece model: the space before a text. With all of
        them, a vocab.json and an added_tokens.json: the ids of tokens, which no two may share. With its own
        post-processor: the ids of the tokens that this adds.

    Why it is bad:
        Which of two contradicting files is used depends on the program and its version, so there is no correct answer
        to compare the GGUF file with. Where the GGUF file agrees with one of them, `run` names the reference as the one
        that is at fault, and no repair of the GGUF file is offered.

    Example:
        e5-mistral has `add_eos_token` true in its tokenizer_config.json and no EOS in its post-processor; transformers
        4 and 5 interpret it differently. The first tokenizer.json of Llama 3 adds no BOS, which its chat template
        writes. transformers turns `add_dummy_prefix` off in the sentencepiece models of derivatives of Llama that it
        saves with `legacy` false, and adds the space itself.

    How to repair:
        Ask the publisher which one the model was trained with, and correct the other file.

    Threads:
        embeddings-benchmark/mteb#5237, lablup/mlxcel#1594, ggml-org/llama.cpp#8228, vllm-project/vllm#11184,
        stephantul/skeletoken#93
    """
    model = model_beside(subject.path)
    found = [*find_contradictions(subject.expected), *find_other_vocabularies(subject.expected)]
    if not found and not subject.config and model is None:
        raise NotEvaluatedError(
            "there is neither a tokenizer_config.json nor a sentencepiece model beside the reference"
        )
    for contradiction in dict.fromkeys(found):
        yield Finding(WARNING, contradiction.sentence, ids=contradiction.ids)
    if isinstance(subject.expected, DocumentHolding):
        yield from _check_flags(subject)
        yield from _check_legacy(subject)
        yield from _check_truncation(subject)
        yield from _check_dropout(subject)
        if model is not None:
            yield from _check_prefix(subject, model)


def _check_flags(subject: Subject) -> Iterator[Finding]:
    """Compare the flags of added tokens; `special` is compared with every reference that knows its types."""
    stored = {token["content"]: token for token in subject.document.added_tokens}
    for flag in _FLAGS:
        differing: dict[int, str] = {}
        for id, entry in added_tokens(subject.path).items():
            text = str(token_text(entry))
            flags = [each.get(flag) for each in (entry, stored.get(text, {}))]
            if all(isinstance(value, bool) for value in flags) and flags[0] is not flags[1]:
                differing[id] = text
        if differing:
            message = (
                f"tokenizer_config.json and tokenizer.json disagree about `{flag}` of"
                f" {plural(len(differing), 'added token')}: {list_tokens(list(differing), differing)}"
            )
            yield Finding(WARNING, message, ids=tuple(differing))


def _check_legacy(subject: Subject) -> Iterator[Finding]:
    """Compare `legacy` with where a space is added; source: `LlamaConverter` in transformers."""
    legacy = subject.config.get("legacy")
    schemes = [stage["prepend_scheme"] for stage in subject.document.pre_tokenizer if stage["type"] == "Metaspace"]
    is_first = "first" in schemes
    is_always = "always" in schemes or any(stage["type"] == "Prepend" for stage in subject.document.normalizer)
    if (legacy is False and is_always) or (legacy is True and is_first and not is_always):
        does = "before the text only" if is_first else "after each added token, too"
        message = f"tokenizer_config.json has legacy {str(legacy).lower()}, but tokenizer.json adds a space {does}"
        yield Finding(WARNING, message)


def _check_truncation(subject: Subject) -> Iterator[Finding]:
    truncation = subject.document.outline.get("truncation")
    length = truncation.get("max_length") if isinstance(truncation, dict) else None
    if length is None:
        return
    most = subject.config.get("model_max_length")
    if isinstance(most, int) and most not in {length, _UNLIMITED}:
        message = f"tokenizer.json cuts a text off after {length:,} tokens, but tokenizer_config.json has"
        yield Finding(WARNING, f"{message} model_max_length {most:,}; tokverify compares whole texts")


def _check_dropout(subject: Subject) -> Iterator[Finding]:
    if dropout := subject.document.model.get("dropout"):
        message = f"tokenizer.json has dropout {dropout}, with which programs that load it encode each text at random"
        yield Finding(WARNING, f"{message}; it is for training, and tokverify turns it off")


def _check_prefix(subject: Subject, path: Path) -> Iterator[Finding]:
    model = read_beside(path)
    if bool(adds_space(subject.expected)) != model.add_space_prefix:
        declared = str(model.add_space_prefix).lower()
        message = f"{path.name} has add_dummy_prefix {declared}, but tokenizer.json does the opposite"
        yield Finding(WARNING, message)
