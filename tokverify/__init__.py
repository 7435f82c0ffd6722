"""Prove that a GGUF file's tokenizer agrees with the tokenizer its model was trained with."""

from __future__ import annotations

# Not the constant of `typing`, which takes longer to import than everything else here. Until this package is imported,
# Ctrl-C is not handled yet.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from tokverify.case import Case
    from tokverify.cases.loading import load_cases, select_cases
    from tokverify.commands.tasks.audit import audit_model
    from tokverify.commands.tasks.chat import check_chat
    from tokverify.commands.tasks.convert import convert_tokenizer
    from tokverify.commands.tasks.corpus import verify_corpus
    from tokverify.commands.tasks.diff import diff_tokenizers
    from tokverify.commands.tasks.encode import decode_ids, encode_text
    from tokverify.commands.tasks.explain import explain_ids, explain_text
    from tokverify.commands.tasks.fix import fix_model
    from tokverify.commands.tasks.fuzz import fuzz_model
    from tokverify.commands.tasks.init import init_project
    from tokverify.commands.tasks.inspect import inspect_model, list_tokens
    from tokverify.commands.tasks.learn import learn_tokenizer
    from tokverify.commands.tasks.opening import open_model, open_reference
    from tokverify.commands.tasks.record import record_expectations
    from tokverify.commands.tasks.report import diff_reports, read_report, to_json
    from tokverify.commands.tasks.run import verify_model
    from tokverify.commands.tasks.stats import measure_tokenizers
    from tokverify.commands.tasks.stream import check_streaming
    from tokverify.commands.tasks.train import train_tokenizer
    from tokverify.commands.tasks.versions import compare_library_versions
    from tokverify.compare.baseline import Baseline
    from tokverify.compare.comparison import verify_tokenizers
    from tokverify.compare.opened import OpenedModel, OpenedReference
    from tokverify.engine.encoder import Encoder
    from tokverify.errors import BrokenFileError, EncodeError, MissingLibraryError, TokverifyError, UnsupportedError
    from tokverify.references import load_reference
    from tokverify.report.run import Report
    from tokverify.sources.load import load_gguf, load_model
    from tokverify.tokenizer import Tokenizer
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
    "Baseline": "compare.baseline",
    "BrokenFileError": "errors",
    "Case": "case",
    "EncodeError": "errors",
    "Encoder": "engine.encoder",
    "MissingLibraryError": "errors",
    "OpenedModel": "compare.opened",
    "OpenedReference": "compare.opened",
    "Report": "report.run",
    "Tokenizer": "tokenizer",
    "TokverifyError": "errors",
    "UnsupportedError": "errors",
    "audit_model": "commands.tasks.audit",
    "check_chat": "commands.tasks.chat",
    "check_streaming": "commands.tasks.stream",
    "compare_library_versions": "commands.tasks.versions",
    "convert_tokenizer": "commands.tasks.convert",
    "decode_ids": "commands.tasks.encode",
    "diff_reports": "commands.tasks.report",
    "diff_tokenizers": "commands.tasks.diff",
    "encode_text": "commands.tasks.encode",
    "explain_ids": "commands.tasks.explain",
    "explain_text": "commands.tasks.explain",
    "fix_model": "commands.tasks.fix",
    "fuzz_model": "commands.tasks.fuzz",
    "init_project": "commands.tasks.init",
    "inspect_model": "commands.tasks.inspect",
    "learn_tokenizer": "commands.tasks.learn",
    "list_tokens": "commands.tasks.inspect",
    "load_cases": "cases.loading",
    "load_gguf": "sources.load",
    "load_model": "sources.load",
    "load_reference": "references",
    "measure_tokenizers": "commands.tasks.stats",
    "open_model": "commands.tasks.opening",
    "open_reference": "commands.tasks.opening",
    "read_report": "commands.tasks.report",
    "record_expectations": "commands.tasks.record",
    "select_cases": "cases.loading",
    "to_json": "commands.tasks.report",
    "train_tokenizer": "commands.tasks.train",
    "verify_corpus": "commands.tasks.corpus",
    "verify_model": "commands.tasks.run",
    "verify_tokenizers": "compare.comparison",
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
