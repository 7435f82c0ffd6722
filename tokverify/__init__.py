"""Prove that a GGUF file's tokenizer agrees with the tokenizer its model was trained with."""

from __future__ import annotations

# Not the constant of `typing`, which takes longer to import than everything else here. Until this package is imported,
# Ctrl-C is not handled yet.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from tokverify.cases.case import Case
    from tokverify.cases.loading import load_cases
    from tokverify.engine.encoder import Encoder
    from tokverify.errors import BrokenFileError, EncodeError, MissingLibraryError, TokverifyError, UnsupportedError
    from tokverify.files.load import load_gguf, load_model
    from tokverify.references import load_reference
    from tokverify.report.run import Report
    from tokverify.tasks.audit import audit_model
    from tokverify.tasks.cases import select_cases
    from tokverify.tasks.chat import check_chat
    from tokverify.tasks.convert import convert_tokenizer
    from tokverify.tasks.corpus import verify_corpus
    from tokverify.tasks.diff import diff_tokenizers
    from tokverify.tasks.encode import decode_ids, encode_text
    from tokverify.tasks.explain import explain_ids, explain_text
    from tokverify.tasks.fix import fix_model
    from tokverify.tasks.fuzz import fuzz_model
    from tokverify.tasks.init import init_project
    from tokverify.tasks.inspect import inspect_model, list_tokens
    from tokverify.tasks.learn import learn_tokenizer
    from tokverify.tasks.opening import OpenedModel, OpenedReference, open_model, open_reference
    from tokverify.tasks.record import record_expectations
    from tokverify.tasks.report import diff_reports, read_report, to_json
    from tokverify.tasks.run import verify_model
    from tokverify.tasks.stats import measure_tokenizers
    from tokverify.tasks.stream import check_streaming
    from tokverify.tasks.train import train_tokenizer
    from tokverify.tasks.versions import compare_library_versions
    from tokverify.tokenizer import Tokenizer
    from tokverify.verify.baseline import Baseline
    from tokverify.verify.comparison import verify_tokenizers
    from tokverify.version import __version__

__all__ = [
    "Baseline",
    "BrokenFileError",
    "Case",
    "EncodeError",
    "Encoder",
    "MissingLibraryError",
    "OpenedModel",
    "OpenedReference",
    "Report",
    "Tokenizer",
    "TokverifyError",
    "UnsupportedError",
    "__version__",
    "audit_model",
    "check_chat",
    "check_streaming",
    "compare_library_versions",
    "convert_tokenizer",
    "decode_ids",
    "diff_reports",
    "diff_tokenizers",
    "encode_text",
    "explain_ids",
    "explain_text",
    "fix_model",
    "fuzz_model",
    "init_project",
    "inspect_model",
    "learn_tokenizer",
    "list_tokens",
    "load_cases",
    "load_gguf",
    "load_model",
    "load_reference",
    "measure_tokenizers",
    "open_model",
    "open_reference",
    "read_report",
    "record_expectations",
    "select_cases",
    "to_json",
    "train_tokenizer",
    "verify_corpus",
    "verify_model",
    "verify_tokenizers",
]

_MODULES = {
    "__version__": "version",
    "Baseline": "verify.baseline",
    "BrokenFileError": "errors",
    "Case": "cases.case",
    "EncodeError": "errors",
    "Encoder": "engine.encoder",
    "MissingLibraryError": "errors",
    "OpenedModel": "tasks.opening",
    "OpenedReference": "tasks.opening",
    "Report": "report.run",
    "Tokenizer": "tokenizer",
    "TokverifyError": "errors",
    "UnsupportedError": "errors",
    "audit_model": "tasks.audit",
    "check_chat": "tasks.chat",
    "check_streaming": "tasks.stream",
    "compare_library_versions": "tasks.versions",
    "convert_tokenizer": "tasks.convert",
    "decode_ids": "tasks.encode",
    "diff_reports": "tasks.report",
    "diff_tokenizers": "tasks.diff",
    "encode_text": "tasks.encode",
    "explain_ids": "tasks.explain",
    "explain_text": "tasks.explain",
    "fix_model": "tasks.fix",
    "fuzz_model": "tasks.fuzz",
    "init_project": "tasks.init",
    "inspect_model": "tasks.inspect",
    "learn_tokenizer": "tasks.learn",
    "list_tokens": "tasks.inspect",
    "load_cases": "cases.loading",
    "load_gguf": "files.load",
    "load_model": "files.load",
    "load_reference": "references",
    "measure_tokenizers": "tasks.stats",
    "open_model": "tasks.opening",
    "open_reference": "tasks.opening",
    "read_report": "tasks.report",
    "record_expectations": "tasks.record",
    "select_cases": "tasks.cases",
    "to_json": "tasks.report",
    "train_tokenizer": "tasks.train",
    "verify_corpus": "tasks.corpus",
    "verify_model": "tasks.run",
    "verify_tokenizers": "verify.comparison",
}
"""Public name -> the module that defines it."""


def __getattr__(name: str) -> object:
    """Import a public name on first use, which keeps `import tokverify` quick."""
    if name not in _MODULES:
        raise AttributeError(f"module 'tokverify' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"tokverify.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
