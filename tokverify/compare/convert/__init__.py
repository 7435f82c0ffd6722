"""Convert a tokenizer file to another format, and verify the result against its source before it is written.

What the new format cannot express is listed. Differences are explained by limits of llama.cpp, as for `run`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tokverify.case import Case
from tokverify.compare.contradiction import contradictions_of
from tokverify.compare.convert.convention import follow_conventions
from tokverify.compare.convert.json_writer import config_of, config_path, lost_parts, write_json
from tokverify.compare.convert.source import Source, open_source
from tokverify.compare.convert.special_tokens import SpecialTokens, warn_of_defaults
from tokverify.compare.convert.verification import ConversionExplainer, Plan, Verification, verify_conversion
from tokverify.compare.limits.explaining import explainer_of
from tokverify.compare.opened import OpenedReference
from tokverify.compare.side import side_of
from tokverify.engine.build import known_since
from tokverify.engine.encoder import Encoder
from tokverify.engine.families import find_family
from tokverify.engine.family import Ranking
from tokverify.engine.pre_search import find_match
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS
from tokverify.engine.settings import without_ignored
from tokverify.errors import TokverifyError, UnsupportedError
from tokverify.references.huggingface import from_json
from tokverify.references.reference import FoundReference
from tokverify.report.convert import Conversion, PreTokenizerChoice
from tokverify.sources.gguf.declaration import read_spec
from tokverify.sources.gguf.writer import with_name, write_gguf
from tokverify.sources.huggingface.conversion import NO_PREFIX
from tokverify.sources.location import read_file
from tokverify.sources.nearest_pattern import original_name_of
from tokverify.sources.tokenizer_file import file_of
from tokverify.spec import TokenizerSpec, TokenType
from tokverify.system.output_file import check_new_file, move_into_place, sync, temporary_beside

__all__ = ["Conversion", "SpecialTokens", "convert"]

STRINGS = 2000
"""The default number of generated texts that verify a conversion, besides the cases."""

_KINDS = {"gguf": "a GGUF file", "tokenizers": "a tokenizer.json"}


@dataclass(frozen=True, slots=True)
class Target:
    """A format to write."""

    kind: str
    """Its name as the kind of a source."""
    write: Callable[[Path, TokenizerSpec, OpenedReference], None]
    """Writes a tokenizer, given also the source that it was read from."""


TARGETS: Mapping[str, Target] = {
    ".gguf": Target("gguf", lambda path, spec, _: write_gguf(path, spec)),
    ".json": Target("tokenizers", write_json),
}
"""The formats by suffix. A new one is one row."""


def _target_of(path: Path) -> Target:
    """Return the format that a file's suffix selects.

    Raises:
        TokverifyError: If there is no such format.
    """
    target = TARGETS.get(path.suffix.lower())
    if target is None:
        problem = f"{path.suffix} is not supported" if path.suffix else "it is missing"
        raise TokverifyError(f"{path}: the suffix selects the output format, and {problem}; use {' or '.join(TARGETS)}")
    return target


def _check_target(path: Path, source: Path, *, force: bool) -> None:
    """Fail before the work begins if a file could not, or must not, be written.

    Raises:
        TokverifyError: If it is the source, exists and must not be overwritten, or cannot be written.
    """
    source = file_of(source)
    if path.exists() and source.exists() and path.samefile(source):
        raise TokverifyError(f"{path}: is IN itself, which is never changed; name another file")
    check_new_file(path, force=force)


def convert(  # noqa: PLR0913 - the optional ones are keywords
    source: Path,
    target: Path,
    *,
    force: bool = False,
    unexplained: bool = False,
    strict: bool = False,
    on_progress: Callable[[int, int], None] | None = None,
    cases: Iterable[Case] | None = None,
    count: int = STRINGS,
    seed: int = 0,
    with_config: bool = False,
    special_tokens: SpecialTokens | None = None,
) -> Conversion:
    """Convert a tokenizer file to the format that the target's suffix selects (.gguf, .json), and verify it.

    The target is written only if it returns the same ids as its source for all cases and `count` generated texts,
    except for differences that are explained by what the format cannot express.

    The options are those of `convert_tokenizer`.

    Raises:
        TokverifyError: If the target cannot or must not be written. A subclass means that the source is broken, cannot
            be read, or cannot be expressed in the target's format.
    """
    if unexplained and strict:
        raise TokverifyError(
            "`unexplained` writes the target even if it differs, and `strict` does not; choose one of them"
        )
    config = config_path(target) if with_config else None
    for path in filter(None, (target, config)):
        _check_target(path, source, force=force)
    job = _Job(source, target, _target_of(target), config=config, unexplained=unexplained, strict=strict)
    plan = Plan(cases=_cases(cases), count=count, seed=seed, on_progress=on_progress)
    opened = open_source(source)
    if opened.kind == job.format.kind:
        raise TokverifyError(f"{source}: is already {_KINDS[opened.kind]}; name an output file with another suffix")
    spec = (special_tokens or SpecialTokens()).declare(with_name(opened.spec, _name(target.stem, opened)))
    conventions: tuple[str, ...] = ()
    if job.format.kind == "gguf":
        if not unexplained:
            _require_bytes(source, spec)
            _require_no_prefix(source, spec)
        spec, conventions = follow_conventions(spec, opened.kind)
    elif opened.kind == "gguf":
        spec = without_ignored(spec)
    return replace(job.run(replace(opened, spec=spec), plan), conventions=conventions)


def _name(stem: str, source: Source) -> str:
    """Name the model after the target, and keep the name that llama.cpp needs to strip spaces around added tokens."""
    telling = source.spec.general.get("name", "") if source.kind in {"tokenizers", "vocab"} else ""
    return stem if telling in stem.lower() else f"{stem} {telling}"


def _require_bytes(source: Path, spec: TokenizerSpec) -> None:
    family = find_family(spec.model)
    if family and family.ranking is Ranking.SCORE and TokenType.BYTE not in (spec.types or ()):
        raise UnsupportedError(
            f"{source}: has no byte tokens (byte_fallback), so llama.cpp would abort on every character that is no "
            "piece; use --unexplained to write the file anyway"
        )


def _require_no_prefix(source: Path, spec: TokenizerSpec) -> None:
    if NO_PREFIX in spec.left_out:
        raise UnsupportedError(
            f"{source}: {NO_PREFIX}, so nearly every text would differ; use --unexplained to write the file anyway"
        )


@dataclass(frozen=True, slots=True)
class _Job:
    """One conversion."""

    source: Path
    target: Path
    format: Target
    config: Path | None
    """The tokenizer_config.json to write."""
    unexplained: bool
    strict: bool

    def run(self, opened: Source, plan: Plan) -> Conversion:
        """Write the target under a temporary name, verify it, and rename it if it is good enough."""
        reference = OpenedReference(opened.found)
        with temporary_beside(self.target) as temporary:
            self._write(temporary, opened.spec, reference)
            sync(temporary)
            verification = self._verify(opened.spec, reference, temporary, plan)
            tolerated = verification.differing if self.strict else verification.unexplained
            written = self.unexplained or not tolerated
            if written:
                self._write_config(opened)
                move_into_place(temporary, self.target)
        return self._conversion(opened, reference, plan, verification, written=written)

    def _write(self, path: Path, spec: TokenizerSpec, source: OpenedReference) -> None:
        try:
            self.format.write(path, spec, source)
        except UnsupportedError as error:
            raise UnsupportedError(f"{self.source}: {error}") from error

    def _write_config(self, opened: Source) -> None:
        if self.config:
            with temporary_beside(self.config) as temporary:
                temporary.write_text(json.dumps(config_of(opened.spec), indent=2) + "\n", encoding="utf-8")
                sync(temporary)
                move_into_place(temporary, self.config)

    def _verify(self, spec: TokenizerSpec, reference: OpenedReference, temporary: Path, plan: Plan) -> Verification:
        converted = _read_back(temporary, self.format.kind, self.target.stem)
        sides = (
            replace(side_of(converted.tokenizer), source=str(self.target), reason="the converted file"),
            replace(side_of(reference.tokenizer), source=str(self.source), reason="the source file"),
        )
        # Limits say what llama.cpp, so a GGUF file, does otherwise than a reference.
        written = OpenedReference(converted)
        if isinstance(reference.tokenizer, Encoder):
            explainer = explainer_of(reference.tokenizer, written)
            return verify_conversion(reference.tokenizer, written, (sides[1], sides[0]), plan, explainer)
        if self.format.kind == "gguf":
            explainer = explainer_of(converted.tokenizer, reference)
        else:
            explainer = ConversionExplainer(Encoder(spec), reference, written)
        return verify_conversion(converted.tokenizer, reference, sides, plan, explainer)

    def _lost(self, opened: Source) -> Iterator[str]:
        if self.format.kind == "gguf":
            yield from opened.lost
        else:
            yield from lost_parts(opened.spec, with_config=self.config is not None)

    def _conversion(
        self, opened: Source, reference: OpenedReference, plan: Plan, verification: Verification, *, written: bool
    ) -> Conversion:
        spec = opened.spec
        family = find_family(spec.model)
        has_name = self.format.kind == "gguf" and family is not None and family.is_bpe
        return Conversion(
            source=str(self.source),
            target=str(self.target),
            kinds=(opened.kind, self.format.kind),
            model=spec.model,
            size=len(spec.tokens),
            pre_tokenizer=_describe_choice(spec.pre, opened.pre_tokens, reference) if has_name and spec.pre else None,
            untransportable=tuple(self._lost(opened)),
            report=verification.report,
            strings=plan.count,
            differing=verification.differing,
            unexplained=verification.unexplained,
            written=written,
            strict=self.strict,
            warnings=self._warnings(opened),
        )

    def _warnings(self, opened: Source) -> tuple[str, ...]:
        if self.format.kind != "gguf":
            return ()
        source = opened.found.tokenizer
        assumed = [opened.found.caveat] if opened.kind == "vocab" and opened.found.caveat else []
        return (
            *assumed,
            *warn_of_defaults(opened.spec, adding_was_compared=source.adds_special),
            *(f"the files of IN contradict each other: {each.sentence}" for each in contradictions_of(source)),
        )


def _describe_choice(
    name: str, pre_tokens: Sequence[Sequence[str]] | None, reference: OpenedReference
) -> PreTokenizerChoice | None:
    if not PRE_TOKENIZERS[name].byte_level:
        return None
    since = known_since("pre_tokenizers")[name]
    original = original_name_of(reference.split) if since and reference.split else None
    by_converter = original if original and original != name else ""
    return PreTokenizerChoice(**asdict(find_match(name, pre_tokens)), since=since, by_converter=by_converter)


def _cases(cases: Iterable[Case] | None) -> list[Case]:
    """Return the cases, by default the shipped ones, without what they expect from particular tokenizers."""
    if cases is None:
        from tokverify.cases.loading import load_cases

        cases = load_cases()
    return [replace(case, expect={}) for case in cases]


def _read_back(path: Path, kind: str, name: str) -> FoundReference:
    """Open the written file as it will be used: a GGUF file with our encoder, another one with its library."""
    if kind == "gguf":
        return FoundReference(Encoder(read_spec(path), name), str(path))
    return from_json(read_file(path), source=name, is_file=True)
