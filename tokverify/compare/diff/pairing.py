"""Decide whether two models can be used together, by the rules of the programs that would do so.

A new use takes one function and one entry in `RULES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from tokverify.case import Case
from tokverify.compare.comparison import compare_cases
from tokverify.compare.diff.version import Version
from tokverify.engine.encoder import Encoder
from tokverify.engine.family import Settings
from tokverify.engine.settings import resolve
from tokverify.errors import TokverifyError
from tokverify.report.diff import ChangeReport, Consequence, Fit, Level, Outcome, Pairing, Use
from tokverify.spec import TokenType
from tokverify.text.wording import list_items, plural, quote
from tokverify.texts.vocabulary import list_other_tokens, to_type
from tokverify.tokenizer import why_hidden

_Judgment = tuple[Fit, str]

_MAX_SIZE_DIFFERENCE = 128
"""llama.cpp's SPEC_VOCAB_MAX_SIZE_DIFFERENCE, in tokens."""
_FIRST_COMPARED_ID = 5
"""llama.cpp's SPEC_VOCAB_CHECK_START_TOKEN_ID."""


class Comparison(NamedTuple):
    """Everything that differs between two models."""

    report: ChangeReport
    """The comparison with its consequences; B is the new version."""
    list_ids: Callable[[], Sequence[tuple[Sequence[int], Sequence[int]]]]
    """Lists the ids that each of them gives every text that was tried, not only the cases."""


@dataclass(frozen=True)
class Pair:
    """Two models that shall be used together, compared only as far as a rule asks, which takes most of the time."""

    a: Version
    """The target, the base, the embedder, or the model that generates."""
    b: Version
    """The draft, the model that an adapter is applied to, the reranker, or the vocabulary of a grammar engine."""
    cases: Sequence[Case]
    """Texts that both encode."""
    compare: Callable[[], Comparison]
    """Compares everything."""

    @property
    def sizes(self) -> tuple[int, int]:
        """The number of tokens of each."""
        return self.a.tokenizer.vocab_size, self.b.tokenizer.vocab_size

    def settings(self) -> tuple[Settings, Settings]:
        """Return what llama.cpp would use.

        Raises:
            TokverifyError: If it is unknown, because only the tokens of one of them could be read.
        """
        return _settings_of(self.a), _settings_of(self.b)

    def other_tokens(self) -> str:
        """Say which ids are another token in B; empty if there is none.

        Ids that only one of the two has or uses do not count.
        """
        other = [each for each in self._differing if each[0] not in self.half_used]
        if not other:
            return ""
        id, in_a, in_b = other[0]
        count = plural(len(other), "id is another token", "ids are other tokens")
        return f"{count}, such as {id}: {quote(in_a)} in A, {quote(in_b)} in B"

    @cached_property
    def half_used(self) -> set[int]:
        """Return the ids that both have, but that one of the two fills with an unused token, such as `[PAD151646]`."""
        specs = [version.spec for version in (self.a, self.b) if version.spec]
        unused = [
            {id for id, _, _ in self._differing if spec.types and to_type(spec.types[id]) is TokenType.UNUSED}
            for spec in specs
        ]
        return set().union(*unused)

    @cached_property
    def _differing(self) -> list[tuple[int, str, str]]:
        """Return the ids that both have as different tokens, with the pieces of A and B."""
        return list_other_tokens(self.a.tokenizer, self.b.tokenizer)

    def differ_in_common_ids(self) -> bool:
        """Check whether a text gets other ids, all of which both have and use."""
        most = min(self.sizes)
        pairs = self.compare().list_ids()
        return any(a != b and all(id < most and id not in self.half_used for id in (*a, *b)) for a, b in pairs)

    def encode_cases(self) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Return the ids of each case that both encode."""
        results = compare_cases(self.b.tokenizer, self.a.tokenizer, self.cases)
        return [(result.expected, result.actual) for result in results if result.expected and result.actual]

    def consequence(self, level: Level) -> Consequence:
        """Return what the differences mean for this level."""
        return next(each for each in self.compare().report.consequences if each.level is level)


def _settings_of(version: Version) -> Settings:
    if isinstance(version.tokenizer, Encoder):
        return version.tokenizer.settings
    if version.spec is None:
        raise TokverifyError(version.unread)
    return resolve(version.spec)


def judge_pair(pair: Pair, uses: Iterable[Use]) -> tuple[Pairing, ...]:
    """Judge whether two models can be used together for each of these uses."""
    return tuple(_judge(pair, use) for use in uses)


def _judge(pair: Pair, use: Use) -> Pairing:
    if use is not Use.EMBEDDING and (hidden := why_hidden(pair.a.tokenizer, pair.b.tokenizer)):
        return Pairing(use, Fit.UNKNOWN, hidden)
    try:
        return Pairing(use, *RULES[use](pair))
    except TokverifyError as error:
        return Pairing(use, Fit.UNKNOWN, str(error))


def judge_draft(pair: Pair) -> _Judgment:
    """Judge a draft model as llama.cpp does (`common_speculative_are_compatible` in common/speculative.cpp).

    The target verifies every drafted id, so whatever llama.cpp accepts only costs time, and never changes a text.
    """
    target, draft = pair.settings()
    if target.algorithm != draft.algorithm:
        return _refuse("llama.cpp", f"the target is a {target.algorithm} model, the draft a {draft.algorithm} model")
    ignored = []
    for role in ("bos", "eos"):
        adds = [getattr(settings, f"add_{role}") for settings in (target, draft)]
        if adds[0] != adds[1]:
            return _refuse("llama.cpp", f"only the {'target' if adds[0] else 'draft'} adds {role.upper()}")
        if target.special_ids.get(role) == draft.special_ids.get(role):
            continue
        named = f"{_name_id(role, pair.a, target)} in the target, {_name_id(role, pair.b, draft)} in the draft"
        if adds[0]:
            return _refuse("llama.cpp", f"{role.upper()} is {named}")
        ignored.append(f"; {role.upper()} is {named}, which llama.cpp does not compare because it is not added")
    fit, reason = _judge_drafted_tokens(pair, target.pieces, draft.pieces)
    return fit, reason if fit is Fit.UNUSABLE else "".join([reason, *ignored])


def _name_id(role: str, version: Version, settings: Settings) -> str:
    if role in version.named_roles:
        return str(settings.special_ids[role])
    default = settings.special_ids.get(role) if version.is_gguf else None
    return "unknown" if default is None else f"{default} (llama.cpp's default, because none is named)"


def _judge_drafted_tokens(pair: Pair, target: Sequence[str], draft: Sequence[str]) -> _Judgment:
    if abs(len(target) - len(draft)) > _MAX_SIZE_DIFFERENCE:
        limit = f"the numbers may differ by {_MAX_SIZE_DIFFERENCE}"
        return _refuse("llama.cpp", f"the target has {len(target):,} tokens, the draft {len(draft):,}; {limit}")
    other = [id for id, (piece, drafted) in enumerate(zip(target, draft, strict=False)) if piece != drafted]
    compared = [id for id in other if id >= _FIRST_COMPARED_ID]
    if compared:
        id = compared[0]
        count = plural(len(compared), "id is another token", "ids are other tokens")
        shown = f"{quote(target[id])} in the target, {quote(draft[id])} in the draft"
        return _refuse("llama.cpp", f"{count}, such as {id}: {shown}")
    if other:
        ids = list_items(other)
        return Fit.LOSSY, f"llama.cpp does not compare the ids 0 to 4, of which these are other tokens: {ids}"
    return _judge_texts(pair, _LESS_OFTEN) or _judge_sizes(pair)


def judge_draft_in_vllm(pair: Pair) -> _Judgment:
    """Judge a draft model as vLLM does: it requires the same size (`verify_equal_vocab_size_if_draft_model`)."""
    if refusal := _require_same_size("vLLM", pair):
        return refusal
    if other := pair.other_tokens():
        return Fit.LOSSY, f"vLLM only compares the sizes, but {other}; drafts of these are rejected"
    return _judge_texts(pair, _LESS_OFTEN) or _judge_sizes(pair)


def judge_draft_in_sglang(pair: Pair) -> _Judgment:
    """Judge a draft model as SGLang's algorithm STANDALONE does since its pull request 23838.

    Versions before it accept any pair, and replace tokens without a word.
    """
    if other := pair.other_tokens():
        return _refuse("SGLang", other)
    a, b = pair.sizes
    # The tokens of a GGUF file are padded.
    if a != b and not (pair.a.is_gguf or pair.b.is_gguf):
        return _refuse("SGLang", f"the target's tokenizer has {a:,} tokens, the draft's {b:,}")
    if refusal := _require_same_size("SGLang", pair):
        return refusal
    return _judge_texts(pair, _LESS_OFTEN) or _judge_sizes(pair)


_LESS_OFTEN = "drafts are accepted less often"


def judge_adapter(pair: Pair) -> _Judgment:
    """Judge a model for an adapter that was trained on another one: tokens, prompts and ids have to be the same."""
    if other := pair.other_tokens():
        return Fit.UNUSABLE, f"{other}; the adapter would read other tokens than it was trained on"
    special = pair.consequence(Level.SPECIAL)
    if special.outcome is Outcome.BROKEN:
        return Fit.LOSSY, f"the special tokens or the chat template differ ({special.reason})"
    if judgment := _judge_texts(pair, "the adapter was not trained on these"):
        return judgment
    if special.outcome is Outcome.UNKNOWN:
        return Fit.UNKNOWN, f"whether the special tokens are the same is not known: {special.reason}"
    return _require_ends(pair) or _judge_sizes(pair)


def judge_embedding(pair: Pair) -> _Judgment:
    """Judge whether a chunk that fills the window of one model fits into a window of the same size of the other."""
    cases = pair.encode_cases()
    if not cases:
        return Fit.UNKNOWN, "no text was encoded by both"
    every: Sequence[tuple[Sequence[int], Sequence[int]]] = cases
    if not any(len(read) > len(cut) for cut, read in cases):
        every = pair.compare().list_ids()
    counts = [(len(cut), len(read)) for cut, read in every]
    more = sum(read > cut for cut, read in counts)
    if not more:
        return Fit.USABLE, f"none of {plural(len(counts), 'text')} needs more tokens in B than in A"
    worst = max(read / cut for cut, read in counts if cut)
    all_cases = sum(len(read) for _, read in cases) / sum(len(cut) for cut, _ in cases)
    cost = f"{all_cases:.2f} times as many for all cases together, {worst:.1f} times for the worst text"
    return (
        Fit.LOSSY,
        f"{more:,} of {plural(len(counts), 'text')} need more tokens in B ({cost}); cut chunks by B's tokens",
    )


def judge_grammar(pair: Pair) -> _Judgment:
    """Judge whether a grammar engine that was built from one vocabulary masks the right tokens of another."""
    if other := pair.other_tokens():
        return Fit.UNUSABLE, f"{other}; the engine would allow texts that the grammar does not"
    ends = [settings.eog_ids for settings in pair.settings()]
    if unknown := _require_ends(pair):
        return unknown
    # An id that only one of the two has or uses is no token that the other one takes for something else.
    shared = {id for id in ends[0] | ends[1] if id < min(pair.sizes) and id not in pair.half_used}
    if differing := sorted((ends[0] ^ ends[1]) & shared):
        return Fit.UNUSABLE, f"only one of the two ends a generation at {list_items(differing)}"
    if ends[0] != ends[1] and not ends[0] & ends[1]:
        return Fit.UNUSABLE, f"no token of both ends a generation: {list_items(sorted(ends[0] | ends[1]))}"
    return _judge_sizes(pair)


RULES: Mapping[Use, Callable[[Pair], _Judgment]] = {
    Use.SPECULATIVE: judge_draft,
    Use.SPECULATIVE_VLLM: judge_draft_in_vllm,
    Use.SPECULATIVE_SGLANG: judge_draft_in_sglang,
    Use.ADAPTER: judge_adapter,
    Use.EMBEDDING: judge_embedding,
    Use.GRAMMAR: judge_grammar,
}
"""Use -> the rule that decides."""


def _refuse(program: str, reason: str) -> _Judgment:
    return Fit.UNUSABLE, f"{program} refuses the pair: {reason}"


def _require_ends(pair: Pair) -> _Judgment | None:
    unnamed = [side for side, version in (("A", pair.a), ("B", pair.b)) if not version.names_end]
    return (Fit.UNKNOWN, f"what ends a generation in {' and '.join(unnamed)} is not declared") if unnamed else None


def _require_same_size(program: str, pair: Pair) -> _Judgment | None:
    target, draft = pair.a.count_embeddings(), pair.b.count_embeddings()
    if target is None or draft is None:
        side = "target" if target is None else "draft"
        return Fit.UNKNOWN, f"{program} compares vocab_size of config.json, and there is none beside the {side}"
    return None if target == draft else _refuse(program, f"the target has {target:,} tokens, the draft {draft:,}")


def _judge_sizes(pair: Pair) -> _Judgment:
    """Judge a pair whose common ids are the same tokens."""
    a, b = pair.sizes
    if half_used := sorted(pair.half_used):
        count = plural(len(half_used), "id is", "ids are")
        return Fit.LIMITED, f"{count} used by only one of the two, the first of them {half_used[0]}"
    if a == b:
        return Fit.USABLE, "every id is the same token"
    return Fit.LIMITED, f"A has {a:,} tokens, B {b:,}; the ids up to {min(a, b) - 1} are the same tokens"


def _judge_texts(pair: Pair, effect: str) -> _Judgment | None:
    """Judge a pair with the same tokens by the texts that get other ids; None if there is none.

    Texts in which only one of the two has a token do not count: up to its id, the pair is usable.
    """
    ids = pair.consequence(Level.IDS)
    if ids.outcome is Outcome.UNKNOWN and not pair.encode_cases():
        return Fit.UNKNOWN, ids.reason
    if ids.outcome is not Outcome.BROKEN or not pair.differ_in_common_ids():
        return None
    return Fit.LOSSY, f"every id is the same token, but {ids.reason}: {effect}"
