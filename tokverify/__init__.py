"""tokverify: prove that a GGUF file's tokenizer agrees with the tokenizer its model was trained with."""

from __future__ import annotations

# Not that of `typing`, which takes longer to import than all else here: Ctrl-C while the command line starts would meet
# the import of this package more often than the handler behind it.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from tokverify.cases.loading import load_cases
    from tokverify.files.load import load_gguf, load_model
    from tokverify.references import load_reference
    from tokverify.report.run import Report
    from tokverify.verify.comparison import verify_tokenizers

__all__ = ["Report", "__version__", "load_cases", "load_gguf", "load_model", "load_reference", "verify_tokenizers"]

__version__ = "0.1.0"

_LAZY = {
    "Report": "tokverify.report.run",
    "load_cases": "tokverify.cases.loading",
    "load_gguf": "tokverify.files.load",
    "load_model": "tokverify.files.load",
    "load_reference": "tokverify.references",
    "verify_tokenizers": "tokverify.verify.comparison",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, which keeps `import tokverify` quick."""
    if name not in _LAZY:
        raise AttributeError(f"module 'tokverify' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
