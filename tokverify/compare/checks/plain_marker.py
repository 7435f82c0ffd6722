"""TV111: special tokens typed as ordinary ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tokverify.compare.behavior import find_differing
from tokverify.compare.repair import FIX
from tokverify.compare.rule import rule
from tokverify.compare.subject import Subject
from tokverify.engine.attribute import Attribute
from tokverify.report.finding import ERROR, INFO, WARNING, Finding
from tokverify.sources.gguf.keys import TYPES
from tokverify.text.wording import list_tokens, plural
from tokverify.texts.token_text import ordinary_markers
from tokverify.texts.unmade_token import unmade_by

_MOST_TRIED = 200


@rule(code="TV111", name="plain-marker", severity=ERROR)
def plain_marker(subject: Subject) -> Iterator[Finding]:
    """Expect tokens that look special to be typed as special.

    What it does:
        Looks for NORMAL tokens with texts such as `<|im_start|>`, `<start_of_turn>`, `<｜User｜>` or `[CLS]`, and
        encodes texts with them. A token that is still encoded whole is accepted: a unigram model (`t5`) weighs NORMAL
        tokens by their scores against other segmentations, so that T5's `<extra_id_0>` needs no other type. Otherwise
        it is for information if the reference does the same; without one, also if a merge makes the token, such as
        Qwen's `<s>`: it was learned from texts, as words are. Otherwise, it is an error if the chat template contains
        the token, and else a warning. llama.cpp's own overrides by text are taken into account.

    Why it is bad:
        A NORMAL token is not matched before the text is split and merged, so in a chat it is usually split. The
        model does not see where a turn begins or ends.

    Example:
        Exports of Gemma 3 had `<start_of_turn>` and `<end_of_turn>` typed NORMAL, and nothing reported it.

    How to repair:
        Type them CONTROL (3), or USER_DEFINED (4) if they must also be recognized when special tokens are not parsed.
        `tokverify fix MODEL -r REFERENCE -o FIXED` does so as the reference declares; it uses the bundled cases or, if
        none of these contains such a token, your own with `--cases`. Or convert again; the converter takes the types
        from `added_tokens`.

    Threads:
        unslothai/unsloth#5070, ggml-org/llama.cpp#8240, ggml-org/llama.cpp#8244, antonellof/ferrox#198,
        ggml-org/llama.cpp#21816, ggml-org/llama.cpp#3475
    """
    settings = subject.settings
    if not settings.family.declares_types and subject.spec.types is None:
        return
    normal = Attribute.NORMAL.value
    plain = [id for id in ordinary_markers(settings) if settings.attributes[id] == normal]
    lost = [id for id in plain if not _is_encoded_whole(subject, id)]
    markers = subject.markers.strong if lost and subject.spec.chat_template else ()
    asks = _recognizes_special(subject)
    written = [id for id in lost if settings.pieces[id] in markers]
    if written and not (asks and _are_plain(subject, written)):
        message = f"the chat template contains {_count(written, 'that ')}, {_in_pieces(written)}: "
        yield Finding(
            ERROR, message + list_tokens(written, settings.pieces), ids=tuple(written), keys=(TYPES,), repair=FIX
        )
    else:
        written = []
    unmade = set(unmade_by(subject.spec.merges or (), settings.ids)) if lost and not asks else set(lost)
    learned = [id for id in lost if id not in written and id not in unmade]
    if learned:
        it, was = ("it", "it was") if len(learned) == 1 else ("them", "they were")
        message = f"{_count(learned)}; merges make {it}, so {was} probably learned from texts: "
        yield Finding(INFO, message + list_tokens(learned, settings.pieces), ids=tuple(learned), keys=(TYPES,))
    others = [id for id in lost if id not in written and id not in learned]
    if others:
        yield _check_unwritten(subject, others, asks=asks)


def _is_encoded_whole(subject: Subject, id: int) -> bool:
    """Whether our side encodes the token's text as that token in any context."""
    piece = subject.settings.pieces[id]
    return all(id in subject.encoder.encode(text) for text in (piece, f"a{piece}a", f"a {piece} a"))


def _recognizes_special(subject: Subject) -> bool:
    """Whether there is a reference that could show that it matches these tokens."""
    given = subject.independent
    return given is not None and not given.found.reads_model and given.parses_special


def _check_unwritten(subject: Subject, ids: Sequence[int], *, asks: bool) -> Finding:
    is_intended = asks and _are_plain(subject, ids)
    effect = "as in the reference" if is_intended else _in_pieces(ids)
    message = f"{_count(ids)}, {effect}: {list_tokens(ids, subject.settings.pieces)}"
    severity, repair = (INFO, "") if is_intended else (WARNING, FIX)
    return Finding(severity, message, ids=tuple(ids), keys=(TYPES,), repair=repair)


def _are_plain(subject: Subject, ids: Sequence[int]) -> bool:
    """Whether the reference encodes texts with these tokens as our side does."""
    return find_differing(subject, (f"a{subject.settings.pieces[id]}a" for id in ids[:_MOST_TRIED])) is None


def _count(ids: Sequence[int], that: str = "") -> str:
    verbs = "looks special but is" if len(ids) == 1 else "look special but are"
    return f"{plural(len(ids), 'token')} {that}{verbs} typed NORMAL"


def _in_pieces(ids: Sequence[int]) -> str:
    return f"so {'it is' if len(ids) == 1 else 'they are'} split into pieces"
