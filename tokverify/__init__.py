"""tokverify: prove that a GGUF file's tokenizer agrees with the tokenizer its model was trained with."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from tokverify.report import Report

# subtle: `verify` is also the name of a submodule, which would take the name over on its first import; importing
# the function here, once that has happened, settles it.
from tokverify.verify import verify

if TYPE_CHECKING:
    from tokverify.cases import load_cases
    from tokverify.load import load_gguf, load_model
    from tokverify.references import load_reference

__all__ = ["Report", "__version__", "load_cases", "load_gguf", "load_model", "load_reference", "verify"]

__version__ = "0.1.0"

_LAZY = {
    "load_cases": "tokverify.cases",
    "load_gguf": "tokverify.load",
    "load_model": "tokverify.load",
    "load_reference": "tokverify.references",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, which keeps `import tokverify` quick."""
    if name not in _LAZY:
        raise AttributeError(f"module 'tokverify' has no attribute {name!r}")
    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
