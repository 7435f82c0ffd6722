"""Measure: how much a tokenizer differs from its reference, in every way in which that can be found out."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from itertools import chain
from typing import TypeAlias

from tokverify.case import Case
from tokverify.compare.audit import audit
from tokverify.compare.charsmap_difference import find_replaced_differently
from tokverify.compare.checks import RULES
from tokverify.compare.comparison import compare_cases
from tokverify.compare.limits.explaining import Explainer, explainer_of
from tokverify.compare.opened import Opened
from tokverify.compare.rule import Rule
from tokverify.compare.subject import Subject
from tokverify.compare.template_difference import find_foreign_markers, has_other_template, is_of_base_model
from tokverify.compare.tokenizer_comparison import compare_tokenizers
from tokverify.engine.encoder import Encoder
from tokverify.engine.engine_choice import NATIVE
from tokverify.engine.settings import resolve
from tokverify.errors import TokverifyError
from tokverify.repair.budget import Budget
from tokverify.repair.change import require_loadable
from tokverify.repair.fix.certain import begins_with_bos
from tokverify.repair.fix.token_list import TokenList
from tokverify.repair.token_patch import types_of
from tokverify.report.finding import INFO, Finding, Severity
from tokverify.report.fix import FINDINGS, MINOR_ROLES, UNCONFIRMED, FixCheck, Verification
from tokverify.report.run import AppliedLimit, CaseResult, Status
from tokverify.report.tokenizer_difference import FAIL_ON, Aspect, TokenizerDifference, select_failing
from tokverify.sources.gguf import keys
from tokverify.sources.gguf.declaration import Declaration
from tokverify.spec import TokenizerSpec, TokenType
from tokverify.texts.batch import Known
from tokverify.texts.competing_text import rank_alike
from tokverify.texts.target_text import is_generated
from tokverify.texts.vocabulary import compare_vocabularies
from tokverify.tokenizer import DocumentHolding

CASES = "cases"
TEXTS = "generated texts"
DECODING = "decoding"
DECODING_TEXTS = "decoding of generated texts"
OF_TEXTS = frozenset({TEXTS, DECODING_TEXTS})
"""What depends on the texts that a search makes."""
BYTES = "bytes of tokens"
TYPES = "types of tokens"
ROLES = "special tokens"
RANKING = "order of merges or scores"
AROUND = "tokens around a text"
TEMPLATE = "chat template"
CHARSMAP = "characters that the charsmap replaces"
AFFIXES = "flags for BOS and EOS (compared with llama.cpp's defaults, as the reference adds neither)"

_COMPARED = (
    CASES,
    DECODING,
    TEXTS,
    DECODING_TEXTS,
    BYTES,
    TYPES,
    ROLES,
    MINOR_ROLES,
    RANKING,
    AROUND,
    CHARSMAP,
    TEMPLATE,
    AFFIXES,
)
_ERRORS = (FINDINGS, UNCONFIRMED)
_Premises: TypeAlias = tuple[bytes, str | None]
"""Types of tokens, and the name of the pre-tokenizer."""
_OF_BYTES = (Aspect.BYTES, Aspect.MISSING, Aspect.EXTRA)
_AFFIX_FLAGS = ("add_bos", "add_eos", "add_sep")
_PYTHON_COST = 20
"""How many times as long the Python engine takes for a text."""
_LONG = 500
"""The number of characters from which on a text counts twice, and so on."""
_TOKENS_PER_TEXT = 4
"""In a quick search, to compare this many tokens counts as much as a text, so that few candidates are measured."""
_KEPT = 2
"""Besides the latest tokenizer, what is known of this many others is kept."""
_ERROR_RULES = [rule for rule in RULES.values() if rule.severity is Severity.ERROR]
_WORTH = 4
"""A difference that the reference may be responsible for counts this many times less than one that it is not."""


@dataclass(frozen=True)
class Measure:
    """The differences that were found."""

    compared: Mapping[str, int]
    """The number of differences, by what was compared, without the errors that rules find."""
    count_errors: Callable[[], Mapping[str, int]]
    """Counts those, which takes as long as everything else."""
    optional: frozenset[str]
    """What may differ for reasons that no file can change."""
    results: Sequence[CaseResult]
    """The results of all cases, generated ones included."""
    encoder: Encoder | None
    """None if llama.cpp refuses the tokenizer."""
    refusal: str = ""
    differences: Sequence[TokenizerDifference] = ()
    """The differences between the tokenizers themselves for which `run` fails, each counted above."""

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """The number of differences, by what was compared."""
        return {**self.compared, **self.count_errors()}

    @property
    def is_clean(self) -> bool:
        """Whether there is no difference at all, apart from the errors that audit finds."""
        return not any(self.compared.values()) and not self.counts.get(UNCONFIRMED)

    @property
    def total(self) -> int:
        """How many differences there are that must not remain."""
        return sum(count for name, count in self.counts.items() if name not in self.optional)

    def improves(self, other: Measure) -> bool:
        """Whether this is better in at least one way, and worse in none."""
        changes = {name: count - other.compared[name] for name, count in self.compared.items()}
        # The type of a token can be compared only once its text is right.
        _forgive(changes, TYPES, -changes[BYTES])
        if any(change > 0 for name, change in changes.items() if name not in self.optional):
            return False
        changes |= {name: count - other.counts[name] for name, count in self.counts.items() if name not in changes}
        required = [change for name, change in changes.items() if name not in self.optional]
        gain = -sum(required)
        # A repair that a rule calls an error is never made, whatever else it achieves.
        if max(required) > 0 or changes[FINDINGS] > 0:
            return False
        # A text whose ids agree at last may decode differently, where the reference decodes in its own way.
        for name in (DECODING, DECODING_TEXTS):
            _forgive(changes, name, -changes[CASES] - changes[TEXTS])
        loss = sum(change for name, change in changes.items() if name in self.optional)
        return loss * _WORTH < gain or (gain == 0 and loss < 0)

    def differs_in_minor_roles_at_most(self, other: Measure) -> bool:
        """Whether this measure is that of the other one, apart from roles that no text shows."""
        return all(self.counts[name] == count for name, count in other.counts.items() if name != MINOR_ROLES)

    @property
    def differs_in_flags_at_most(self) -> bool:
        """Whether nothing counts but unconfirmed flags for BOS and EOS."""
        return self.total == self.counts[AFFIXES]

    def trusting_flags(self) -> Measure:
        """Return the same measure; if nothing else differs, unconfirmed flags for BOS and EOS do not count either."""
        return replace(self, optional=self.optional | {AFFIXES}) if self.differs_in_flags_at_most else self

    def judging_decoding(self, *, is_required: bool) -> Measure:
        """Return the same measure, with differences in decoding that count, or do not."""
        decoding = {DECODING, DECODING_TEXTS}
        return replace(self, optional=self.optional - decoding if is_required else self.optional | decoding)

    def verification(self) -> Verification:
        """Return the counts of the cases, without the generated ones."""
        results = [result for result in self.results if not is_generated(result.case)]
        fail = self.counts[CASES]
        skipped = sum(result.status is Status.SKIPPED for result in results)
        explained = sum(bool(result.explained_by) for result in results)
        decoded = sum(result.decode_difference is not None for result in results)
        match = len(results) - fail - skipped - explained
        return Verification(match, fail, decoded, self.refusal or None, explained)


def _forgive(changes: dict[str, int], name: str, most: int) -> None:
    """Ignore that a number rises, by at most `most`."""
    if 0 < changes[name] <= most:
        changes[name] = 0


def to_checks(before: Measure, after: Measure) -> tuple[FixCheck, ...]:
    """Return what was compared besides the ids of the cases, before and after a repair."""
    return tuple(
        FixCheck(name, count, after.counts[name], name not in after.optional)
        for name, count in before.counts.items()
        if name != CASES
    )


def _cost(encoder: Encoder, cases: Sequence[Case]) -> int:
    """Return what comparing the cases costs, in encodings of short texts."""
    encodings = sum(1 + len(case.text) // _LONG for case in cases)
    return encodings * (1 if encoder.engine.name == NATIVE else _PYTHON_COST)


@dataclass(frozen=True, slots=True)
class _Variant:
    """A tokenizer, and what is known of it whichever texts are compared."""

    spec: TokenizerSpec
    encoder: Encoder | None
    refusal: str
    explainer: Explainer | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    differences: Sequence[TokenizerDifference] = ()
    find_errors: Callable[[], Sequence[Finding]] = list
    """Returns the errors that rules find, once for each tokenizer."""


def _ranks_alike(known: _Variant, spec: TokenizerSpec) -> bool:
    """Whether a tokenizer differs from the reference in the order of merges or scores exactly as a known one does."""
    if known.encoder is None or not rank_alike(known.spec, spec):
        return False
    pairs = zip(known.spec.types or (), spec.types or (), strict=False)
    return known.spec.types is spec.types or not any(
        ours != theirs and TokenType.NORMAL in {ours, theirs} for ours, theirs in pairs
    )


class Measuring:
    """Measures tokenizers against one reference."""

    def __init__(  # noqa: PLR0913 - the optional one is a keyword
        self,
        declaration: Declaration,
        name: str,
        facts: Opened,
        cases: Sequence[Case],
        budget: Budget,
        *,
        encoder: Encoder | None = None,
        is_quick: bool = False,
    ) -> None:
        self._declaration = declaration
        self._encoder = encoder
        self._name = name
        self._facts = facts
        self._cases = list(cases)
        self._is_quick = is_quick
        self._is_ranking_right: bool | None = None
        self.budget = budget
        """What this repair may still encode; `measure` works even if nothing is left."""
        self.token_list = TokenList(facts)
        self._known = Known()
        self._explained: dict[tuple[str, tuple[int, ...]], tuple[str, ...]] = {}
        self._unexplained: dict[tuple[str, tuple[int, ...]], _Premises] = {}
        """The cases that no limit explains, by name and ids, and with which types of tokens and pre-tokenizer."""
        self._explainers: dict[str, Explainer] = {}
        """What has last explained a case by each limit, by its code."""
        self._fewest = sys.maxsize
        self._variants: list[_Variant] = []
        self._shared_errors: dict[str, set[str]] = {}
        """The messages of the errors that the reference has as well, by code, as far as a candidate had one of them."""

    def add_cases(self, cases: Iterable[Case]) -> bool:
        """Also compare these cases from now on; return whether any of them is new."""
        known = {case.name for case in self._cases}
        new = [case for case in cases if case.name not in known]
        self._cases += new
        return bool(new)

    def measure(self, spec: TokenizerSpec, *, exactly: bool = False) -> Measure:
        """Compare a tokenizer, as a file would declare it, with the reference.

        With `exactly`, the limits that explain each failing case are those of this very tokenizer.
        """
        variant = self._find_variant(spec)
        encoder, explainer = variant.encoder, variant.explainer
        if encoder is None or explainer is None:
            return self._refused(variant.refusal, len(spec.tokens))
        self.budget.spend(_cost(encoder, self._cases) + (len(spec.tokens) // _TOKENS_PER_TEXT if self._is_quick else 0))
        results: Sequence[CaseResult] = compare_cases(encoder, self._facts.tokenizer, self._cases, self._known)
        is_original = spec is self._declaration.spec
        premises = bytes(spec.types or ()), spec.pre
        results = self._explain(explainer, results, premises, is_original=is_original, exactly=exactly)
        shipped = [result for result in results if not is_generated(result.case)]
        generated = [result for result in results if is_generated(result.case)]
        counts = {
            CASES: _count_failing(shipped),
            DECODING: _count_decoding(shipped, encoder.vocab_size),
            TEXTS: _count_failing(generated),
            DECODING_TEXTS: _count_decoding(generated, encoder.vocab_size),
            **variant.counts,
        }
        count_errors = partial(self._count_errors, variant)
        return Measure(counts, count_errors, self._optional, results, encoder, differences=variant.differences)

    def _find_variant(self, spec: TokenizerSpec) -> _Variant:
        """Return what is known of a tokenizer; of the latest ones, it need not be found out again for more texts."""
        for variant in self._variants:
            if variant.spec is spec or variant.spec == spec:
                return variant
        variant = self._make_variant(spec)
        self._variants = [*self._variants[-_KEPT:], variant]
        return variant

    def _make_variant(self, spec: TokenizerSpec) -> _Variant:
        try:
            if spec is self._declaration.spec and self._declaration.refusal:
                raise self._declaration.refusal
            require_loadable(spec)
            encoder = self._open(spec)
        except TokverifyError as error:
            return _Variant(spec, None, str(error))
        compared = self._compare(encoder)
        differences = select_failing(compared, FAIL_ON)
        # What llama.cpp ignores is no difference, and still wrong.
        invalid = spec.special_ids.keys() - spec.valid_special_ids.keys()
        minor = _roles_of(compared) - _roles_of(differences) - invalid
        # Where `run` does not fail, such as for what a converter does on purpose, there is nothing to repair.
        accepted = _ids_of(compared, Aspect.TYPES) - _ids_of(differences, Aspect.TYPES)
        accepted_bytes = _ids_of(compared, *_OF_BYTES, Aspect.PADDING) - _ids_of(differences, *_OF_BYTES)
        counts = {
            BYTES: len({*self._differing_bytes(encoder), *_ids_of(differences, *_OF_BYTES)} - accepted_bytes),
            TYPES: len({*self.token_list.differing_types(encoder), *_ids_of(differences, Aspect.TYPES)} - accepted),
            ROLES: len({*self.token_list.differing_roles(encoder), *_roles_of(differences), *invalid} - minor),
            MINOR_ROLES: len(minor),
            RANKING: len(_ids_of(differences, Aspect.RANKING)),
            AROUND: sum(difference.aspect is Aspect.AFFIXES for difference in differences),
            CHARSMAP: len(find_replaced_differently(encoder, self._facts.tokenizer)) if self._facts.tokenizer else 0,
            TEMPLATE: int(self._has_other_template(spec)),
            AFFIXES: self._count_unknown_affixes(encoder),
        }
        find_errors = cache(partial(self._find_errors, spec, encoder))
        return _Variant(spec, encoder, "", explainer_of(encoder, self._facts), counts, differences, find_errors)

    def _has_other_template(self, spec: TokenizerSpec) -> bool:
        """Whether the reference has another chat template; that of a base or another model says nothing about ours."""
        reference = self._facts.tokenizer
        if reference is None or not has_other_template(spec, self._facts.chat_templates):
            return False
        template = self._facts.chat_template
        return not is_of_base_model(spec, reference, template) and not find_foreign_markers(spec, reference, template)

    def _open(self, spec: TokenizerSpec) -> Encoder:
        """Return an encoder that shares the tables of the file's own as far as they are the same."""
        if self._encoder is None:
            self._encoder = Encoder(spec, self._name)
        if self._encoder.spec is spec:
            return self._encoder
        return Encoder(spec, self._name, base=self._encoder)

    def _explain(
        self,
        explainer: Explainer,
        results: Sequence[CaseResult],
        premises: _Premises,
        *,
        is_original: bool,
        exactly: bool,
    ) -> Sequence[CaseResult]:
        """Return results with the limits that explain them.

        A case that gives the same wrong ids again mostly has the same explanation, but limits can explain it only once
        the types of tokens are right, or the name of the pre-tokenizer is the nearest (`premises` identifies both).
        Deviating encoders take long to build, so of a candidate with which more cases fail than before, only those up
        to the first are explained that no limit explains.
        """
        failing = [result for result in results if result.fails]
        is_promising = is_original or exactly or len(failing) <= self._fewest
        for result in failing:
            key = result.case.name, result.actual
            if exactly or self._unexplained.get(key, premises) != premises or key not in self._explained:
                self._explained[key] = explainer.explain(result).explained_by
            if not self._explained[key]:
                self._unexplained[key] = premises
                if not is_promising:
                    break
        self._explainers |= dict.fromkeys(explainer.used, explainer)
        if is_promising:
            self._fewest = min(self._fewest, len(failing))
        return [self._with_limits(result) if result.fails else result for result in results]

    def _with_limits(self, result: CaseResult) -> CaseResult:
        limits = self._explained.get((result.case.name, result.actual), ())
        return result if limits == result.explained_by else replace(result, explained_by=limits)

    def limits_of(self, measure: Measure) -> tuple[AppliedLimit, ...]:
        """Return the limits that explain cases of a measure, without the generated ones."""
        shipped = [result for result in measure.results if not is_generated(result.case)]
        counts = Counter(code for result in shipped for code in result.explained_by)
        each = (self._explainers[code].describe_counts({code: counts[code]}) for code in sorted(counts))
        return tuple(chain.from_iterable(each))

    def _differing_bytes(self, encoder: Encoder) -> Sequence[int]:
        # `run` fails for those in a difference; to look at each token takes longer than everything else.
        return () if self._is_quick else self.token_list.differing_bytes(encoder)

    def _compare(self, encoder: Encoder) -> Sequence[TokenizerDifference]:
        """Return the differences between the tokenizers themselves, as `run` does."""
        expected = self._facts.tokenizer
        if expected is None:
            return ()
        vocabulary = compare_vocabularies(encoder, expected)
        alike = next((known for known in self._variants if _ranks_alike(known, encoder.spec)), None)
        compares_ranking = alike is None and not self._is_ranking_right
        compared = compare_tokenizers(encoder, expected, vocabulary, facts=self._facts, ranking=compares_ranking)
        found = compared.differences
        if alike:
            return [*found, *(each for each in alike.differences if each.aspect is Aspect.RANKING)]
        # If the file, which is measured first, has the right order, the cases show whether a candidate breaks it.
        if self._is_ranking_right is None:
            self._is_ranking_right = self._is_quick and all(each.aspect is not Aspect.RANKING for each in found)
        return found

    def _count_unknown_affixes(self, encoder: Encoder) -> int:
        """Count the tokens added around texts against llama.cpp's default, if the reference never adds any.

        For another model than the file's own, the default of either will do.
        """
        reference = self._facts.tokenizer
        # A vocab.json adds none because nothing beside it says what its class adds.
        if reference is None or reference.adds_special or isinstance(reference, DocumentHolding):
            return 0
        undeclared = replace(encoder.spec, add_bos=None, add_eos=None, add_sep=None)
        defaults = [resolve(undeclared)]
        if (own := self._declaration.spec.model) != undeclared.model:
            with suppress(TokverifyError):
                defaults.append(resolve(replace(undeclared, model=own)))
        differing = {
            name
            for name in _AFFIX_FLAGS
            if all(getattr(encoder.settings, name) != getattr(default, name) for default in defaults)
        }
        # If the chat template begins with BOS, the tokenizer must not add it.
        return len(differing - {"add_bos"} if begins_with_bos(encoder) else differing)

    @property
    def _optional(self) -> frozenset[str]:
        # Other libraries decode special tokens and spaces in their own way.
        decodes_alike = self._facts.tokenizer is not None and self._facts.tokenizer.decodes_as_llama_cpp
        decoding = frozenset() if decodes_alike or self.token_list.settings else frozenset({DECODING, DECODING_TEXTS})
        # Many intact files have some; they must only not become more.
        return decoding | {FINDINGS, MINOR_ROLES}

    def _count_errors(self, variant: _Variant) -> dict[str, int]:
        own = [error for error in variant.find_errors() if not self._has_reference(error, variant.spec)]
        # The number of embeddings does not measure a change, as padding is added only once all changes are found.
        return {FINDINGS: len(own), UNCONFIRMED: sum(bool(error.keys) for error in self._unconfirmed(variant))}

    def unconfirmed_errors(self, spec: TokenizerSpec) -> list[Finding]:
        """Return the errors that rules find in what the reference does not declare: keys, or how many embeddings."""
        return self._unconfirmed(self._find_variant(spec))

    def _unconfirmed(self, variant: _Variant) -> list[Finding]:
        declares = self.token_list.declares
        undeclared = [error for error in variant.find_errors() if not any(map(declares, error.keys))]
        return [error for error in undeclared if error.keys or not error.ids]

    def _has_reference(self, error: Finding, spec: TokenizerSpec) -> bool:
        """Whether the reference has the same error as a tokenizer, as far as it declares what that is about."""
        if self._declared is None:
            return False
        # Most rules encode texts, which takes an encoder that shares few tables with the others.
        if error.keys == (keys.TYPES,) and self._types_differ(spec, error.ids):
            return False
        if error.code not in self._shared_errors:
            declares, is_complete = self.token_list.declares, self.token_list.settings is not None
            self._shared_errors[error.code] = {
                found.message
                for found in self._find_errors(self._declared, rules=[RULES[error.code]])
                if is_complete or (found.keys and all(map(declares, found.keys)))
            }
        return error.message in self._shared_errors[error.code]

    def _types_differ(self, spec: TokenizerSpec, ids: Iterable[int]) -> bool:
        ours, theirs = types_of(spec), types_of(self._declared) if self._declared else ()
        return any(id >= len(theirs) or ours[id] != theirs[id] for id in ids)

    @cached_property
    def _declared(self) -> TokenizerSpec | None:
        """The tokenizer as the reference declares it, for this model; what equals the file's is the same object."""
        spec, own = self._facts.spec, self._declaration.spec
        if spec is None:
            return None
        tables = {name: getattr(own, name) for name in ("tokens", "merges", "scores", "types")}
        same = {name: table for name, table in tables.items() if table == getattr(spec, name)}
        return replace(spec, embedding_rows=own.embedding_rows, **same)

    def _find_errors(
        self, spec: TokenizerSpec, encoder: Encoder | None = None, rules: Sequence[Rule] = _ERROR_RULES
    ) -> list[Finding]:
        declaration = replace(self._declaration, spec=spec, refusal=None)
        subject = Subject(declaration, opened=encoder, known=self._facts, base=self._encoder)
        findings = audit(subject, rules).findings
        return [finding for finding in findings if finding.severity is Severity.ERROR]

    def _refused(self, message: str, size: int) -> Measure:
        results = [_error_result(case, message, self._facts) for case in self._cases]
        generated = sum(is_generated(case) for case in self._cases)
        # No file that loads has as many differences of any kind.
        worst = size + len(self._cases)
        counts = dict.fromkeys(_COMPARED, worst) | {CASES: len(self._cases) - generated, TEXTS: generated}
        errors = dict.fromkeys(_ERRORS, worst)
        return Measure(counts, lambda: errors, self._optional, results, None, message)


def _ids_of(differences: Iterable[TokenizerDifference], *aspects: Aspect) -> set[int]:
    return {id for difference in differences if difference.aspect in aspects for id in difference.ids}


def _roles_of(differences: Iterable[TokenizerDifference]) -> set[str]:
    """Return the roles whose tokens differ; `eog` for tokens that end a generation, or should."""
    roles = {keys.ROLES_BY_KEY[key] for each in differences if each.aspect is Aspect.SPECIAL_IDS for key in each.keys}
    ends = any(difference.aspect is Aspect.ENDS and difference.severity is not INFO for difference in differences)
    return roles | {"eog"} if ends and not roles else roles


def _error_result(case: Case, message: str, facts: Opened) -> CaseResult:
    expected = facts.tokenizer
    return CaseResult(
        case,
        Status.ERROR,
        message=message,
        add_special=case.add_special and (expected is None or expected.adds_special),
        parse_special=case.parse_special and (expected is None or expected.parses_special),
    )


def _count_failing(results: Iterable[CaseResult]) -> int:
    return sum(result.fails for result in results)


def _count_decoding(results: Iterable[CaseResult], size: int) -> int:
    """Count the cases that decode differently, and those without ids to decode, or with ids that we do not have.

    Ids that no file of the model can have (TL026) are no reason to change one.
    """
    return sum(
        result.decode_difference is not None
        or result.status is Status.ERROR
        or (max(result.expected, default=0) >= size and not result.explained_by)
        for result in results
    )
