"""Report that the model's chat template is not the reference's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tokverify.compare.digest import make_difference
from tokverify.compare.marker import read_template
from tokverify.engine.encoder import Encoder
from tokverify.report.finding import INFO, WARNING
from tokverify.report.tokenizer_difference import BLAME, Aspect, Origin, TokenizerDifference
from tokverify.sources.config import chat_templates, generation_end_ids
from tokverify.sources.gguf.keys import CHAT_TEMPLATE
from tokverify.spec import DEFAULT_TEMPLATE, TokenizerSpec
from tokverify.text.sequence import common_length
from tokverify.text.wording import quote
from tokverify.tokenizer import Declaring, EndListing, Tokenizer, path_of, pieces_of

_SHOWN_BEFORE = 20
"""In characters."""
_SHOWN_MARKERS = 3


def find_template_difference(actual: Tokenizer, expected: Tokenizer) -> Iterator[TokenizerDifference]:
    """Yield that a chat template is not the reference's, apart from white space; `chat` says if a named one is missing.

    llama.cpp reads the unnamed one as the default, but other programs may read one that is named so.
    """
    theirs = _templates_of(expected)
    if not isinstance(actual, Encoder):
        return
    default = theirs.get(DEFAULT_TEMPLATE)
    for key, template, wanted in paired_templates(actual.spec, theirs):
        if message := describe_other_template(template, wanted):
            severity, origin = WARNING, Origin.UNKNOWN
            if is_of_base_model(actual.spec, expected, default):
                severity = INFO
                message += "; the reference's EOS ends the turns of neither, as that of the base model"
            elif foreign := find_foreign_markers(actual.spec, expected, default):
                origin = Origin.REFERENCE
                few = ", ".join(map(quote, foreign[:_SHOWN_MARKERS]))
                message += f"; {BLAME}: none of the markers of its template, such as {few}, is a token of it"
            what = "" if key == CHAT_TEMPLATE else f"{key}: "
            facts = [template, wanted]
            yield make_difference(Aspect.TEMPLATE, severity, f"{what}{message}", facts=facts, origin=origin, keys=[key])


def paired_templates(spec: TokenizerSpec, theirs: Mapping[str, str]) -> Iterator[tuple[str, str | None, str]]:
    """Yield the key, our text and the reference's of the default template, and of those that both sides name."""
    if DEFAULT_TEMPLATE in theirs:
        yield CHAT_TEMPLATE, spec.chat_template, theirs[DEFAULT_TEMPLATE]
    for name, text in spec.named_chat_templates.items():
        if name in theirs:
            yield f"{CHAT_TEMPLATE}.{name}", text, theirs[name]


def has_other_template(spec: TokenizerSpec, theirs: Mapping[str, str]) -> bool:
    """Whether the default chat template, or one that both sides name, differs in more than white space."""
    return any(describe_other_template(ours, wanted) for _, ours, wanted in paired_templates(spec, theirs))


def is_of_base_model(spec: TokenizerSpec, expected: Tokenizer, template: str | None) -> bool:
    """Whether a reference is that of the base model: its EOS ends the turns of neither chat template, and ours of both.

    Such a template, the reference's `template`, is not the one that a chat model was trained with. The configuration of
    the reference must say where a generation ends: a tokenizer_config.json of a chat model may name its base's EOS.
    """
    ours, theirs = spec.special_ids.get("eos"), expected.special_ids.get("eos")
    if ours is None or theirs is None or ours >= len(spec.tokens) or not has_generation_config(expected):
        return False
    if isinstance(expected, EndListing) and ours in expected.generation_ends().ids:
        return False
    ends = spec.tokens[ours], expected.piece(theirs)
    return all(ends_turns(each, *ends) for each in (spec.chat_template, template))


def find_foreign_markers(spec: TokenizerSpec, expected: Tokenizer, template: str | None) -> tuple[str, ...]:
    """Return the markers of a reference's chat template if it has none of them, and the file some of its own.

    That is the template of another model, whose configuration was copied beside the reference. A fine-tuned model may
    have markers that are plain text, but then the file's template has them, too.
    """
    ours, theirs = read_template(spec.chat_template).strong, read_template(template).strong
    if not theirs or set(ours).isdisjoint(spec.tokens):
        return ()
    known = pieces_of(expected)
    return () if any(marker in known for marker in theirs) else theirs


def ends_turns(template: str | None, end: str, other: str) -> bool:
    """Whether a chat template ends turns with one token, and not with the other."""
    turn_ends = read_template(template).turn_ends
    return end in turn_ends and other not in turn_ends


def has_generation_config(tokenizer: Tokenizer) -> bool:
    """Whether a generation_config.json beside the file of a tokenizer says where a generation ends."""
    path = path_of(tokenizer)
    return path is not None and bool(generation_end_ids(path))


def template_of(tokenizer: Tokenizer) -> str | None:
    """Return the default chat template of a file, or that beside the file that a tokenizer was read from."""
    return _templates_of(tokenizer).get(DEFAULT_TEMPLATE)


def _templates_of(tokenizer: Tokenizer) -> dict[str, str]:
    """Return the chat templates of a file, or those beside the file that a tokenizer was read from, by name."""
    if isinstance(tokenizer, Declaring) and (declared := tokenizer.declared_spec().templates):
        return declared
    path = path_of(tokenizer)
    return chat_templates(path) if path else {}


def describe_other_template(actual: str | None, expected: str) -> str:
    """Say where a chat template first differs from the reference's; empty if only in white space, or not at all."""
    if actual is None:
        return "the reference has a chat template, but the file has none"
    if actual.split() == expected.split():
        return ""
    line, ours, theirs = quote_first_difference(actual, expected)
    return (
        f"the chat template differs from the reference's, first in line {line}: {ours}, but {theirs} in the reference"
    )


def quote_first_difference(actual: str, expected: str) -> tuple[int, str, str]:
    """Return the number of the first line that differs, and quote both, from a little before the place."""
    line, ours, theirs = _first_difference(actual, expected)
    start = max(common_length(ours, theirs) - _SHOWN_BEFORE, 0)
    return line, quote(ours[start:]), quote(theirs[start:])


def _first_difference(actual: str, expected: str) -> tuple[int, str, str]:
    ours, theirs = actual.splitlines(), expected.splitlines()
    for number, pair in enumerate(zip(ours, theirs, strict=False), 1):
        if pair[0] != pair[1]:
            return number, *pair
    least = min(len(ours), len(theirs))
    return least + 1, "".join(ours[least : least + 1]), "".join(theirs[least : least + 1])
