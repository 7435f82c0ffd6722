"""Read and write every kind of report as JSON; the dataclasses in this package are the only definition of the format.

A document is a report's fields in order, after an envelope: `schema_version`, `kind`, and a `summary` that is
derived from the fields and ignored when the document is read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, starmap
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeVar, cast

import msgspec

from tokverify.errors import TokverifyError, UnsupportedError
from tokverify.report.audit import AuditReport, check_audit, summarize_audit
from tokverify.report.canonical import CanonicalReport, check_canonical, summarize_canonical
from tokverify.report.chat import ChatReport, check_chat, summarize_chat
from tokverify.report.check import CheckReport, check_check, summarize_check
from tokverify.report.convert import Conversion, conversion_exit_code
from tokverify.report.corpus import CorpusReport, check_corpus, summarize_corpus
from tokverify.report.diff import ChangeReport, check_diff, summarize_diff
from tokverify.report.explain import DecodingExplanation, Explanation, ExposedExplanation
from tokverify.report.fix import FixReport, check_fix, fix_exit_code
from tokverify.report.fuzz import FuzzReport, check_fuzz, summarize_fuzz
from tokverify.report.inspect import Inspection, TokenList
from tokverify.report.learn import Learning, check_learning, summarize_learning
from tokverify.report.record import Recording, summarize_recording
from tokverify.report.report_diff import ReportDiff, summarize_report_diff
from tokverify.report.run import Report, summarize_run
from tokverify.report.run_check import check_run
from tokverify.report.stats import StatsReport, check_stats, summarize_stats
from tokverify.report.stream import StreamReport, check_stream_report, summarize_stream
from tokverify.report.train import Training, training_exit_code
from tokverify.report.versions import VersionsReport, check_versions, summarize_versions
from tokverify.system.input_file import read_bytes
from tokverify.system.json_input import JsonError, parse_json
from tokverify.text.visible import visible_message
from tokverify.text.wording import list_alternatives, quote
from tokverify.tokenizer import HexBytes

SCHEMA_VERSION = 7
"""The version of the format of all kinds of reports; it increases when a key is added, removed or redefined."""
_MAX_BYTES = 1 << 27
# Suites nest at most 20 deep, and json.dumps fails at about 300.
_MAX_DEPTH = 100
_MAX_INTEGER = 1 << 63
_Report = TypeVar("_Report")
_MAX_LINE = 100
_ENCODER = json.JSONEncoder(allow_nan=False, default=bytes.hex)


def _check_comparison(report: Any, path: str) -> Iterator[str]:  # noqa: ANN401 - the type differs by kind
    yield from check_run(report.report, f"{path}.report")


def _only(exit_code: Callable[[Any], int]) -> Callable[[Any], Mapping[str, object]]:
    """Return what sums a report up by nothing but its exit code."""
    return lambda report: {"exit_code": exit_code(report)}


_summarize_nothing = _only(lambda _: 0)


@dataclass(frozen=True, slots=True)
class Kind:
    """How one kind of report is read and written."""

    type: type
    """The dataclass of the report."""
    summarize: Callable[[Any], Mapping[str, object]]
    """Returns the `summary` of a report: the exit code and whatever else people want to read by script."""
    check: Callable[[Any, str], Iterator[str]] = lambda *_: iter(())
    """Yields what is inconsistent in a report that was read, as `path: problem`; takes the report and its path."""


KINDS: Mapping[str, Kind] = {
    "run": Kind(Report, summarize_run, check_run),
    "check": Kind(CheckReport, summarize_check, check_check),
    "audit": Kind(AuditReport, summarize_audit, check_audit),
    "fuzz": Kind(FuzzReport, summarize_fuzz, check_fuzz),
    "stats": Kind(StatsReport, summarize_stats, check_stats),
    "canonical": Kind(CanonicalReport, summarize_canonical, check_canonical),
    "corpus": Kind(CorpusReport, summarize_corpus, check_corpus),
    "chat": Kind(ChatReport, summarize_chat, check_chat),
    "convert": Kind(Conversion, _only(conversion_exit_code), _check_comparison),
    "learn": Kind(Learning, summarize_learning, check_learning),
    "report diff": Kind(ReportDiff, summarize_report_diff),
    "versions": Kind(VersionsReport, summarize_versions, check_versions),
    "stream": Kind(StreamReport, summarize_stream, check_stream_report),
    "diff": Kind(ChangeReport, summarize_diff, check_diff),
    "explain": Kind(Explanation, _summarize_nothing),
    "explain exposed": Kind(ExposedExplanation, _summarize_nothing),
    "explain decoding": Kind(DecodingExplanation, _summarize_nothing),
    "inspect": Kind(Inspection, _summarize_nothing),
    "fix": Kind(FixReport, _only(fix_exit_code), check_fix),
    "train": Kind(Training, _only(training_exit_code), _check_comparison),
    "cases record": Kind(Recording, summarize_recording),
    "tokens": Kind(TokenList, _summarize_nothing),
}
"""Name of a kind, which is that of the command that writes it -> how it is read and written."""


class SavedReport(NamedTuple):
    """A report that was read from a file, and its kind."""

    kind: str
    report: object


def encode(report: object) -> str:
    """Write a report as JSON. Equal reports give equal text."""
    return write_json(to_document(report))


def to_document(report: object) -> dict[str, object]:
    """Return a report as the JSON object that `encode` writes."""
    name, kind = next((name, kind) for name, kind in KINDS.items() if kind.type is type(report))
    envelope = {"schema_version": SCHEMA_VERSION, "kind": name, "summary": dict(kind.summarize(report))}
    return envelope | _to_builtins(report)


def read(path: Path | str, kind: type[_Report]) -> _Report:
    """Read a saved report of a known kind, given as its dataclass.

    Raises:
        TokverifyError: If the file cannot be read or is not such a report; the message names the place.
        UnsupportedError: If another version of tokverify or another command wrote it.
    """
    name = next(name for name, row in KINDS.items() if row.type is kind)
    return cast("_Report", read_any(path, [name]).report)


def read_any(path: Path | str, kinds: Collection[str] = KINDS.keys()) -> SavedReport:
    """Read a saved report of one of several kinds.

    Raises:
        TokverifyError: If the file cannot be read or is not a report; the message names the place.
        UnsupportedError: If another version of tokverify or another command wrote it.
    """
    path = Path(path)
    return decode(_parse(path), kinds, str(path))


def decode(document: object, kinds: Collection[str] = KINDS.keys(), file: str = "report") -> SavedReport:
    """Return the report in a JSON document; error messages begin with `file`.

    Raises:
        TokverifyError: If the document is not a report; the message names the place.
        UnsupportedError: If another version of tokverify or another command wrote it.
    """
    _check_limits(document, file)
    name = _check_envelope(document, kinds, file)
    kind = KINDS[name]
    try:
        report: object = msgspec.convert(document, kind.type, str_keys=True, dec_hook=_decode_custom)
    except msgspec.ValidationError as error:
        _reject(file, *_split_place(str(error)))
    except UnicodeError:
        _reject(file, "$", "a key or a value from a fixed set contains a lone surrogate")
    for place in _find_missing(_to_builtins(report), document, "$"):
        _reject(file, place, "the key is missing")
    for problem in kind.check(report, "$"):
        _reject(file, *problem.split(": ", 1))
    return SavedReport(name, report)


def _to_builtins(report: object) -> dict[str, object]:
    fields: dict[str, object] = msgspec.to_builtins(
        report, str_keys=True, builtin_types=(bytes,), enc_hook=_encode_custom
    )
    return fields


def _encode_custom(value: object) -> object:
    if isinstance(value, HexBytes):
        return bytes(value)
    raise NotImplementedError(f"a report cannot hold a {type(value).__name__}")


def _decode_custom(wanted: type, value: object) -> object:
    if wanted is object:
        return value
    if not isinstance(value, str):
        raise ValueError("Expected bytes in hexadecimal")  # noqa: TRY004 - msgspec adds the place to a ValueError
    try:
        return HexBytes(bytes.fromhex(value))
    except ValueError:
        raise ValueError("Expected bytes in hexadecimal") from None


def _parse(path: Path) -> object:
    data = read_bytes(path, "report", _MAX_BYTES)
    try:
        return parse_json(data, parse_constant=_reject_constant)
    except JsonError as error:
        raise TokverifyError(f"{path}: not a JSON report: {error}; write one with -f json") from error


def _reject_constant(name: str) -> NoReturn:
    raise JsonError(f"{name} is not a JSON number")


def _check_limits(document: object, file: str) -> None:
    """Reject a document that nests too deep to be written again, or holds an integer of more than 64 bits."""
    level = [document]
    for _ in range(_MAX_DEPTH):
        if any(map(_is_too_large, level)):
            _reject(file, _find_too_large(document), "an integer has more than 64 bits")
        containers = [value for value in level if isinstance(value, dict | list)]
        level = list(chain.from_iterable(one.values() if isinstance(one, dict) else one for one in containers))
    if level:
        _reject(file, "$", f"nested more than {_MAX_DEPTH} levels deep")


def _is_too_large(value: object) -> bool:
    return isinstance(value, int) and abs(value) >= _MAX_INTEGER


def _find_too_large(document: object) -> str:
    """Return the place of the integer that is too large and nested least."""
    level = [("$", document)]
    # subtle: not recursive, since the document may be nested too deep for that.
    while True:
        for path, value in level:
            if _is_too_large(value):
                return path
        level = list(chain.from_iterable(starmap(_children, level)))


def _children(path: str, value: object) -> Iterator[tuple[str, object]]:
    """Yield what an object or array contains, with the places."""
    if isinstance(value, dict):
        yield from ((f"{path}.{key}", child) for key, child in value.items())
    elif isinstance(value, list):
        yield from ((f"{path}[{index}]", child) for index, child in enumerate(value))


def _check_envelope(document: object, kinds: Collection[str], file: str) -> str:
    """Return the kind of a report, if it is one of `kinds` and this version can read it."""
    if not isinstance(document, dict):
        _reject(file, "$", "Expected `object`")
    name, version = document.get("kind"), document.get("schema_version")
    if not isinstance(name, str):
        _reject(file, "$.kind", "Expected `str`")
    if not isinstance(version, int) or isinstance(version, bool):
        _reject(file, "$.schema_version", "Expected `int`")
    if name not in KINDS:
        raise UnsupportedError(f"{file}: reports of kind {quote(name)} are unknown to this tokverify; update it")
    if name not in kinds:
        known = list_alternatives(f"`tokverify {known}`" for known in kinds)
        raise UnsupportedError(f"{file}: this is a report of `tokverify {name}`; give one of {known}")
    if version != SCHEMA_VERSION:
        older = version < SCHEMA_VERSION
        age, remedy = ("an older", "write it again with this one") if older else ("a newer", "update tokverify")
        raise UnsupportedError(
            f"{file}: written by {age} tokverify (schema_version {version}; this one reads {SCHEMA_VERSION}); {remedy}"
        )
    return name


def _find_missing(complete: object, given: object, path: str) -> Iterator[str]:
    """Yield the place of every key that a complete document has and the given one lacks.

    Dataclass defaults are for callers; a file that leaves out a key may have been cut.
    """
    if isinstance(complete, dict) and isinstance(given, dict):
        for key, value in complete.items():
            if key in given:
                yield from _find_missing(value, given[key], f"{path}.{key}")
            else:
                yield f"{path}.{key}"
    elif isinstance(complete, list | tuple) and isinstance(given, list):
        for index, (value, other) in enumerate(zip(complete, given, strict=True)):
            yield from _find_missing(value, other, f"{path}[{index}]")


def _split_place(message: str) -> tuple[str, str]:
    """Return the place and the problem in a message of msgspec, such as ``Expected `int` - at `$.results[3]` ``."""
    problem, _, place = message.rpartition(" - at `")
    return (place.rstrip("`"), problem) if problem else ("$", message)


def _reject(file: str, place: str, problem: str) -> NoReturn:
    where = visible_message(f"{place}: {problem}")
    raise TokverifyError(f"{file}: {where}; not a complete tokverify report, write it again with -f json")


def write_json(document: Mapping[str, object]) -> str:
    """Write a JSON object in ASCII, so that lone surrogates survive, in the order of its keys.

    Bytes become hexadecimal strings. Infinite numbers and NaN, which JSON lacks, become strings.
    """
    try:
        return _write(dict(document), "\n") + "\n"
    except ValueError:  # an infinite number, which is rare; looking for one takes as long as writing
        return _write(_replace_infinite(dict(document)), "\n") + "\n"


def _replace_infinite(value: object) -> object:
    if isinstance(value, dict):
        return {key: _replace_infinite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_infinite(item) for item in value]
    return value if not isinstance(value, float) or isfinite(value) else str(value)


def _write(value: object, line_break: str) -> str:
    """Write a value; a short one and every list of ids takes one line."""
    is_ids = isinstance(value, list | tuple) and all(isinstance(item, int) for item in value)
    if is_ids or _estimate_length(value) <= _MAX_LINE:
        line = _ENCODER.encode(value)
        if is_ids or len(line) <= _MAX_LINE:
            return line
    inner = line_break + "  "
    if isinstance(value, dict):
        parts = [f"{json.dumps(key)}: {_write(item, inner)}" for key, item in value.items()]
        return f"{{{inner}{f',{inner}'.join(parts)}{line_break}}}"
    if isinstance(value, list | tuple):
        return f"[{inner}{f',{inner}'.join(_write(item, inner) for item in value)}{line_break}]"
    return _ENCODER.encode(value)


def _estimate_length(value: object) -> int:
    """Return a lower bound of a value's length on one line, after a look at a few of its parts."""
    if isinstance(value, str | bytes):
        return len(value) + 2
    items = [*value.keys(), *value.values()] if isinstance(value, dict) else value
    if not isinstance(items, list | tuple):
        return 1
    length = 0
    for item in items:
        length += _estimate_length(item) + 2
        if length > _MAX_LINE + 2:
            break
    return length
