"""Search for the changes that repair a file, one after the other, each confirmed by texts for the tokens it changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import chain
from typing import TYPE_CHECKING

from tokverify.case import Case
from tokverify.compare.blame import explain_blame
from tokverify.compare.comparison import compare_cases
from tokverify.compare.damage import find_damage
from tokverify.compare.damage.decoder import find_broken_decoder
from tokverify.compare.opened import Opened
from tokverify.compare.ranking_difference import moved_tokens
from tokverify.compare.template_difference import paired_templates
from tokverify.engine.attribute import ORDINARY
from tokverify.engine.encoder import Encoder
from tokverify.engine.engine_choice import NATIVE
from tokverify.engine.family import Ranking
from tokverify.engine.joined_strings import find_differing
from tokverify.errors import TokverifyError
from tokverify.repair import cost
from tokverify.repair.added_token_change import padding
from tokverify.repair.budget import Budget
from tokverify.repair.change import TokenizerChange
from tokverify.repair.declared_change import declared_changes
from tokverify.repair.evidence import Evidence
from tokverify.repair.fix.certain import certain_changes
from tokverify.repair.fix.changed import changed_ids, unverified_ids
from tokverify.repair.fix.measure import AROUND, BYTES, CASES, DECODING, OF_TEXTS, TEMPLATE, TYPES, Measure, Measuring
from tokverify.repair.fix.token_list import TokenBytes
from tokverify.repair.piece_change import texts_by_bytes
from tokverify.repair.probed_type_change import extended_by_probing, probed_types
from tokverify.repair.search import DiagnosisResult, diagnose
from tokverify.repair.setting_change import affix_flags
from tokverify.repair.token_patch import TokenPatch, kind_of, set_type, types_of
from tokverify.report.run import FAILING, CaseResult
from tokverify.sources.gguf.keys import CHAT_TEMPLATE
from tokverify.sources.gguf.values import changed_values
from tokverify.spec import TokenizerSpec, TokenType
from tokverify.text.sequence import pack, thin_out
from tokverify.text.utf8 import from_utf8, has_surrogate
from tokverify.texts.batch import Known
from tokverify.texts.competing_text import CompetingTexts, rank_alike
from tokverify.texts.frame import CHARACTERS, pack_texts
from tokverify.texts.lost_piece import make_losing_texts
from tokverify.texts.target_text import SUITE, general_cases, in_contexts, is_generated, split_texts, target_cases
from tokverify.texts.token_text import PADDING
from tokverify.texts.unmade_token import never_made
from tokverify.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tokverify.sources.gguf.declaration import Declaration

_ROUNDS = 6
"""At most this many faults are repaired one after the other."""
_QUICKLY_TRIED = 200
"""Of so many changed tokens, texts are made for a quick search."""
_FEW = 0.1
_FEW_DECODED = 0.02
_VERIFICATIONS = 4
"""How many times texts are made for tokens that a repair changes, each time for those that are still unverified."""

_MOST_MOVED = 1_000
"""If more tokens rank in another order, all joins are looked at."""
_MOST_BISECTED = 32
"""At most this many texts that differ are bisected at a time."""


class RepairSearch:
    """Searches for a repair.

    Args:
        declaration: The file.
        facts: What is known about the reference.
        measuring: Compares tokenizers with the reference; it gets the texts that the search makes.
        encodings: How many texts a diagnosis may encode, approximately.
        diagnosed: The diagnosis of the cases, if it is already known.
        is_quick: Whether to leave out the texts of every token.
    """

    def __init__(  # noqa: PLR0913 - the optional ones are keywords
        self,
        declaration: Declaration,
        facts: Opened,
        measuring: Measuring,
        encodings: int,
        diagnosed: DiagnosisResult | None = None,
        *,
        is_quick: bool = False,
    ) -> None:
        self._declaration = declaration
        self._spec = declaration.spec
        self._facts = facts
        self._measuring = measuring
        self._is_quick = is_quick
        self._every_token: EveryToken | None = None
        if facts.tokenizer and not is_quick:
            self._every_token = EveryToken(facts.tokenizer, facts.spec, measuring.token_list.bytes_of)
        self._rejected: set[str] = set()
        self._was_loaded = self._add_first_cases()
        self.candidates = Candidates(facts, measuring, encodings, diagnosed)
        self.parts: list[TokenizerChange] = []
        """The changes found so far."""
        self.current = self._spec
        """The tokenizer with these changes."""
        self.before = self.measure = measuring.measure(self._spec)
        """How the original differs from the reference, and how `current` does."""

    def _add_first_cases(self) -> bool:
        """Add the texts that need no change, and return whether our side can be loaded."""
        measure = self._measuring.measure(self._spec)
        encoder = measure.encoder
        if damage := list(find_damage(encoder, self._facts)) if encoder else []:
            raise TokverifyError(f"not repaired: {explain_blame(damage)}")
        self._measuring.add_cases(general_cases(encoder, self._facts.tokenizer))
        if 2 * measure.compared[CASES] < len(measure.results):
            # Where most cases fail, further texts show nothing before a change is made.
            self._measuring.add_cases(self._differing_tokens(encoder))
        return encoder is not None

    def run(self) -> None:
        """Take changes until no difference is left or nothing helps; then leave out those that are not necessary."""
        while self._goes_on() and (found := self._next_change()):
            self._take(*found)
        if self.parts:
            self.parts = self._completed(prune(self._measuring, self._spec, self.parts, self._facts.tokenizer))
            self.current = reduce(TokenizerChange.then, self.parts).transform(self._spec)
            self.measure = self._measure_unverified()
            self.before = self._measuring.measure(self._spec, exactly=True)
        if self.parts and not self._facts.lists_all_roles and self.measure.differs_in_minor_roles_at_most(self.before):
            # A file is not written anew for a role that nothing uses, such as padding.
            self.parts, self.current, self.measure = [], self._spec, self.before

    def _goes_on(self) -> bool:
        is_spent = bool(self.parts) and self._measuring.budget.is_spent
        return not self.measure.is_clean and len(self.parts) + len(self._rejected) < _ROUNDS and not is_spent

    def _next_change(self) -> tuple[TokenizerChange, Measure] | None:
        """Return the first change that makes the tokenizer better in one way and worse in none, and its measure."""
        for change in self.candidates.changes(self.current, self.measure):
            if change.sentence in self._rejected:
                continue
            found = self._measuring.measure(change.transform(self.current))
            if found.improves(self.measure):
                return change, found
            if self._measuring.budget.is_spent:
                break
        return None

    def _take(self, change: TokenizerChange, measure: Measure) -> None:
        """Make a change, unless texts for the tokens that it changes show that it does more harm than good."""
        previous = self.current
        self.parts.append(change)
        # The one that was measured, not an equal one: only it shares its arrays, and so its tables, with the encoder.
        self.current = measure.encoder.spec if measure.encoder else change.transform(previous)
        self.measure = measure
        is_measured = not self._measuring.add_cases(self._changed_token_cases())
        self.measure = self._measuring.measure(self.current, exactly=True)
        if is_measured:
            return
        self.before = self._measuring.measure(self._spec)
        last = self.before if previous is self._spec else self._measuring.measure(previous)
        if self.measure.total > last.total:
            self._rejected.add(self.parts.pop().sentence)
            self.current, self.measure = previous, last

    def _changed_token_cases(self) -> list[Case]:
        changed: Sequence[int] = changed_ids(self._spec, self.current)
        if self._is_quick:
            changed = thin_out(changed, _QUICKLY_TRIED)
        cases = target_cases(changed, self.measure.encoder, self._facts.tokenizer)
        if not self._was_loaded:
            # Only now is it known which texts our side matches.
            cases += general_cases(self.measure.encoder, self._facts.tokenizer)
        return [*cases, *self._differing_tokens(self.measure.encoder)]

    def _differing_tokens(self, encoder: Encoder | None) -> list[Case]:
        return self._every_token.differing_cases(encoder) if self._every_token and encoder else []

    def _measure_unverified(self) -> Measure:
        """Measure a repair that finds no difference also by texts for the tokens that nothing has verified so far."""
        measure = self._measuring.measure(self.current, exactly=True)
        for _ in range(_VERIFICATIONS):
            ids = unverified_ids(self._spec, self.current, self._facts, measure) if measure.is_clean else []
            if not self._measuring.add_cases(target_cases(ids, measure.encoder, self._facts.tokenizer)):
                break
            measure = self._measuring.measure(self.current, exactly=True)
        return measure

    def _completed(self, parts: list[TokenizerChange]) -> list[TokenizerChange]:
        """Add padding if the parts change the number of tokens and leave embeddings without one."""
        size = len(reduce(TokenizerChange.then, parts).transform(self._spec).tokens)
        rows = self._declaration.spec.embedding_rows or 0
        return [*parts, padding(size, rows)] if size != len(self._spec.tokens) and size < rows else parts


class Candidates:
    """Generates the changes to try for one reference, and keeps the first diagnosis."""

    def __init__(
        self, facts: Opened, measuring: Measuring, encodings: int, diagnosed: DiagnosisResult | None = None
    ) -> None:
        self._known = diagnosed
        self._facts = facts
        self._measuring = measuring
        self._encodings = encodings
        self.diagnosis: DiagnosisResult | None = None
        """The first diagnosis that explains something, or else the first one."""

    def changes(self, spec: TokenizerSpec, measure: Measure) -> Iterator[TokenizerChange]:
        """Yield changes that may repair what `measure` has found in `spec`, the most certain ones first."""
        for change in self._all_changes(spec, measure):
            expressible = change.expressible_part()
            if changed_values(spec, expressible.transform(spec)):
                yield expressible

    def is_foreign_decoding(self, spec: TokenizerSpec, measure: Measure) -> bool:
        """Whether cases, nearly all of them, decode differently because of what only the reference's decoder does.

        A few have another token beside that, such as an added one, and `run` fails for none.
        """
        if not measure.compared[DECODING] or self.blame(measure):
            return True
        agreeing = [result for result in measure.results if not is_generated(result.case) and not result.fails]
        # A verdict must not depend on what the repair has spent.
        budget = Budget(self._encodings)
        found = diagnose(spec, self._facts, agreeing, encoder=measure.encoder, budget=budget)
        best = found.diagnosis.explanations[0] if found and found.changes else None
        return best is not None and not best.expressible and len(best.unexplained) <= _FEW_DECODED * best.failing

    def blame(self, measure: Measure) -> str:
        """Say that cases decode differently because the reference is at fault; empty if it is not."""
        differs = bool(measure.compared[DECODING]) and measure.encoder is not None
        return find_broken_decoder(measure.encoder, self._facts) if differs and measure.encoder else ""

    def _all_changes(self, spec: TokenizerSpec, measure: Measure) -> Iterator[TokenizerChange]:
        yield from self._diagnosed(spec, measure, generated=False)
        yield from certain_changes(spec, measure.encoder, self._facts)
        yield from self._diagnosed(spec, measure, generated=True)
        declared = declared_changes(spec, measure.encoder, self._facts)
        yield from declared
        if len(declared) > 1:
            yield reduce(TokenizerChange.then, declared)
        # What a diagnosis leaves out, because GGUF cannot express all that is added on the other side.
        if measure.compared[AROUND] and measure.encoder:
            yield from affix_flags(Evidence(spec, measure.encoder, self._facts, ()))
        # What no case shows.
        if measure.compared[BYTES] and measure.encoder:
            yield from texts_by_bytes(Evidence(spec, measure.encoder, self._facts, ()))
        if measure.compared[TYPES] and measure.encoder:
            yield from probed_types(Evidence(spec, measure.encoder, self._facts, ()))
        if measure.compared[TEMPLATE]:
            yield _set_templates(spec, self._facts.chat_templates)

    def _diagnosed(self, spec: TokenizerSpec, measure: Measure, *, generated: bool) -> Iterator[TokenizerChange]:
        """Yield what a diagnosis of the cases names; with `generated`, also of the generated ones."""
        result, self._known = self._known, None
        if result is None:
            results = [result for result in measure.results if generated or not is_generated(result.case)]
            budget = self._measuring.budget.part(self._encodings)
            result = diagnose(spec, self._facts, results, encoder=measure.encoder, budget=budget)
        if result is None:
            return
        if self.diagnosis is None or not self.diagnosis.changes:
            self.diagnosis = result
        pairs = zip(result.changes, result.diagnosis.explanations, strict=True)
        # A name that explains hardly any text is a little nearer than that of the file, and not the right one.
        likely = [
            change
            for change, each in pairs
            if change.kind != "pre" or each.failing - len(each.unexplained) > _FEW * each.failing
        ]
        for change in sorted(likely, key=lambda change: not change.expressible):
            are_types = {step.kind for step in change.steps} == {"types"}
            if are_types and (extended := extended_by_probing(change, spec, self._facts)):
                yield extended
            yield change


def _set_templates(spec: TokenizerSpec, templates: Mapping[str, str]) -> TokenizerChange:
    """Return the change that takes the default chat template of a reference, and those that both sides name."""
    wanted = {key: theirs for key, ours, theirs in paired_templates(spec, templates) if ours != theirs}
    template = wanted.get(CHAT_TEMPLATE, spec.chat_template)
    named = {name: wanted.get(f"{CHAT_TEMPLATE}.{name}", text) for name, text in spec.named_chat_templates.items()}
    return TokenizerChange(
        kind="chat_template",
        sentence=f"using the reference's chat template{'s' if len(wanted) > 1 else ''} ({', '.join(wanted)})",
        cost=1.0,
        transform=lambda spec: replace(spec, chat_template=template, named_chat_templates=named),
    )


_MOST = 60
"""At most this many tokens are put into texts for each part."""
_MOST_TOKENS_IN_PYTHON = 20_000
"""The Python engine encodes the texts of at most this many tokens."""


# A diagnosis looks for one cause at a time, so a wrong guess that happens to help at first can stay in a repair
# although a later change explains everything. To find out, texts are made that the tokenizer encodes differently with
# and without each part; they also prove the parts that stay.
def prune(
    measuring: Measuring, spec: TokenizerSpec, parts: Sequence[TokenizerChange], expected: Tokenizer | None
) -> list[TokenizerChange]:
    """Return the parts that are needed, which is at least one; texts that show their effect are added as cases.

    Parts that there is no budget left to examine are kept.
    """
    kept = [step for part in parts for step in part.steps]
    for part in list(kept):
        if measuring.budget.is_spent:
            break
        rest = [other for other in kept if other is not part]
        if rest and not _is_needed(measuring, _apply(kept, spec), _apply(rest, spec), expected):
            kept = rest
    return _describe_anew(set_types_once(kept, spec), spec)


def _describe_anew(parts: Sequence[TokenizerChange], spec: TokenizerSpec) -> list[TokenizerChange]:
    """Return parts with sentences for what they still change without those that were dropped."""
    described: list[TokenizerChange] = []
    for part in parts:
        described.append(replace(part, sentence=part.describe(spec)) if part.describe else part)
        spec = part.transform(spec)
    return described


def set_types_once(parts: list[TokenizerChange], spec: TokenizerSpec) -> list[TokenizerChange]:
    """Return parts that do the same and set no type twice: a later one may undo a part of what an earlier one does."""
    whole, count = spec, 0
    for part in parts:
        before, whole = whole, part.transform(whole)
        if part.kind == "types":
            count += len(find_differing(types_of(before), types_of(whole)))
    changed = [id for id in find_differing(types_of(spec), types_of(whole)) if id < len(spec.tokens)]
    if count <= len(changed):
        return parts
    groups: dict[int, dict[int, TokenPatch]] = {}
    for id in changed:
        type = types_of(whole)[id]
        groups.setdefault(type, {})[id] = TokenPatch(type=type)
    joined = [set_type(spec, patches, TokenType(type), cost.TYPES) for type, patches in groups.items()]
    joined += [part for part in parts if part.kind != "types"]
    return joined if _apply(joined, spec) == whole else parts


def _apply(parts: Sequence[TokenizerChange], spec: TokenizerSpec) -> TokenizerSpec:
    return reduce(TokenizerChange.then, parts).transform(spec)


def _is_needed(measuring: Measuring, whole: TokenizerSpec, reduced: TokenizerSpec, expected: Tokenizer | None) -> bool:
    with_part, without = measuring.measure(whole), measuring.measure(reduced)
    if with_part.encoder is None or without.encoder is None:
        return without.encoder is None
    if any(count > with_part.compared[name] for name, count in without.compared.items() if name not in OF_TEXTS):
        return True
    if measuring.add_cases(_telling_cases(with_part.encoder, without.encoder, expected)):
        with_part, without = measuring.measure(whole), measuring.measure(reduced)
    return _differs_more(without, with_part)


def _differs_more(one: Measure, other: Measure) -> bool:
    # Errors take long to count.
    is_more = any(count > other.compared[name] for name, count in one.compared.items())
    return is_more or any(count > other.counts[name] for name, count in one.counts.items())


def _telling_cases(one: Encoder, other: Encoder, expected: Tokenizer | None) -> list[Case]:
    """Return cases for tokens whose own texts two encoders encode differently."""
    size = min(one.vocab_size, other.vocab_size)
    ids = thin_out(range(size), size if one.engine.name == other.engine.name == NATIVE else _MOST_TOKENS_IN_PYTHON)
    all_bytes = one.bytes_of_tokens()
    texts = {id: text for id in ids if (text := from_utf8(all_bytes[id]))}
    # Most do not, and many in one text take a tenth of the time. White space at their ends, but for the space before a
    # word, could become part of another token there.
    packed = [id for id, text in texts.items() if text.removeprefix(" ").strip() == text.removeprefix(" ")]
    groups = list(pack(packed, lambda id: len(texts[id]), CHARACTERS))
    differing = _find_differing(["\n".join(texts[id] for id in group) for group in groups], one, other)
    tried = sorted({*texts}.difference(packed).union(*(groups[index] for index in differing)))
    differing = [tried[index] for index in _find_differing([texts[id] for id in tried], one, other)]
    return target_cases(thin_out(differing, _MOST), one, expected)


def _find_differing(texts: Sequence[str], one: Encoder, other: Encoder) -> list[int]:
    """Return the indexes of the texts that two encoders encode differently."""
    encoded = (side.encode_many(texts, add_special=False, parse_special=False) for side in (one, other))
    return [index for index, (ours, theirs) in enumerate(zip(*encoded, strict=True)) if ours != theirs]


class EveryToken:
    """Compares the texts of all tokens with a reference, many in one text, and bisects those whose ids differ.

    A merge or a score may matter for a single token, or only where two tokens compete, which no sample contains.

    Args:
        expected: The reference.
        declared: What it declares, if anything.
        bytes_of: Returns the bytes of the tokens of similar tokenizers.
    """

    def __init__(
        self, expected: Tokenizer, declared: TokenizerSpec | None = None, bytes_of: TokenBytes | None = None
    ) -> None:
        self._expected = expected
        self._known = Known()
        self._bytes_of = bytes_of or TokenBytes()
        self._declared = declared
        self._competing = CompetingTexts(declared)
        self._made: tuple[TokenizerSpec | None, Sequence[str]] = (None, ())
        """The tokenizer for which competing texts were made last, and these."""

    def differing_cases(self, actual: Encoder) -> list[Case]:
        """Return cases for texts that both sides encode differently; at most `_MOST_BISECTED`.

        They are the texts of all tokens, of competing ones, and those that pre-tokenizers split in different places.

        Tokens that are matched before the model runs are left out, because how depends on the options.
        """
        found: list[Case] = []
        ranked = chain(self._competing_texts(actual), make_losing_texts(actual))
        texts = chain(_ordinary_texts(actual, self._bytes_of), ranked, split_texts(actual))
        groups: list[Sequence[str]] = list(pack_texts(texts))
        failing = self._failing(groups, actual)[:_MOST_BISECTED]
        while failing:
            halves = [half for group in failing for half in _halves(group)]
            smaller = self._failing(halves, actual)
            # A difference may show only where both halves meet.
            found += [_case(group) for group in failing if not any(half in smaller for half in _halves(group))]
            failing = smaller[:_MOST_BISECTED]
        # Markers that are typed NORMAL are many, as <image_0> to <image_575>, and one text shows all of them.
        markers = [_case(group, parse_special=True) for group in pack_texts(_marker_texts(actual))]
        markers += [
            _case(group, parse_special=parse_special)
            for group in pack_texts(map(in_contexts, _unusual_texts(actual)))
            for parse_special in (True, False)
        ]
        unmatched = [result.case for result in self._compare(actual, markers) if result.status in FAILING]
        return [*found[:_MOST_BISECTED], *unmatched[:_MOST_BISECTED]]

    def _failing(self, groups: Sequence[Sequence[str]], actual: Encoder) -> list[Sequence[str]]:
        results = self._compare(actual, [_case(group) for group in groups])
        return [group for group, result in zip(groups, results, strict=True) if result.status in FAILING]

    def _compare(self, actual: Encoder, cases: Sequence[Case]) -> Sequence[CaseResult]:
        # Of a later tokenizer, most texts are the same, and the reference is not asked again.
        return compare_cases(actual, self._expected, cases, self._known, decodes=False)

    def _competing_texts(self, actual: Encoder) -> Sequence[str]:
        """Return texts that show in which order pieces are joined; of few pieces in another order, those around them.

        To find all joins of a large vocabulary with scores takes longer than everything else.
        """
        last, texts = self._made
        if last is None or not rank_alike(last, actual.spec):
            moved: Sequence[int] | None = None
            if self._declared and actual.settings.family.ranking is Ranking.SCORE:
                moved = moved_tokens(actual, self._declared)
            if moved is None or len(moved) > _MOST_MOVED:
                texts = self._competing.make(actual)
            else:
                pieces = frozenset(actual.settings.pieces[id] for id in moved)
                texts = self._competing.make_around(actual, pieces) if pieces else ()
            self._made = actual.spec, texts
        return texts


def _ordinary_texts(encoder: Encoder, bytes_of: TokenBytes) -> Iterator[str]:
    added = frozenset(encoder.added_texts)
    for data in bytes_of(encoder):
        text = from_utf8(data)
        # RWKV has pieces for its padding, too, which llama.cpp finds in texts; nobody writes them.
        if text and text.strip() and text not in added and not PADDING.fullmatch(text):
            yield text


def _marker_texts(encoder: Encoder) -> Iterator[str]:
    settings = encoder.settings
    for id, piece in enumerate(settings.pieces):
        # Most pieces begin otherwise, and to find that they have no kind takes long.
        is_tag = piece.startswith(("<", "[")) and settings.attributes[id] & ORDINARY and kind_of(piece) == "tags"
        if is_tag and not PADDING.fullmatch(piece):
            yield piece


def _unusual_texts(encoder: Encoder) -> Iterator[str]:
    """Yield what added tokens with unusual texts, such as >>TITLE<<, are if they are typed NORMAL."""
    pieces = encoder.settings.pieces
    texts = (pieces[id] for id in never_made(encoder.spec, encoder.settings))
    # A piece that was written as raw bytes need not be UTF-8, and then no text contains it.
    yield from (text for text in texts if kind_of(text) != "tags" and not has_surrogate(text))


def _case(group: Sequence[str], *, parse_special: bool = False) -> Case:
    text = "\n".join(group)
    name = "every-parsed" if parse_special else "every"
    return Case(id=f"{name}-{text}", suite=SUITE, text=text, parse_special=parse_special)


def _halves(group: Sequence[str]) -> list[Sequence[str]]:
    middle = len(group) // 2
    return [group[:middle], group[middle:]] if middle else []
