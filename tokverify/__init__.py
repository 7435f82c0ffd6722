"""tokverify: prove that a GGUF file's tokenizer agrees with the tokenizer its model was trained with."""

from __future__ import annotations

import sys
from types import ModuleType

# Not that of `typing`, which takes longer to import than all else here: Ctrl-C while the command line starts would meet
# the import of this package more often than the handler behind it.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from tokverify.cases import load_cases
    from tokverify.load import load_gguf, load_model
    from tokverify.references import load_reference
    from tokverify.report import Report
    from tokverify.verify import verify

__all__ = ["Report", "__version__", "load_cases", "load_gguf", "load_model", "load_reference", "verify"]

__version__ = "0.1.0"

_LAZY = {
    "Report": "tokverify.report",
    "load_cases": "tokverify.cases",
    "load_gguf": "tokverify.load",
    "load_model": "tokverify.load",
    "load_reference": "tokverify.references",
    "verify": "tokverify.verify",
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


class _Package(ModuleType):
    """A package in which `verify` is always the function, and never the submodule of the same name."""

    def __setattr__(self, name: str, value: object) -> None:
        # subtle: importing a submodule sets it as an attribute of its package, whoever imports it and whenever.
        super().__setattr__(name, value.verify if name == "verify" and isinstance(value, ModuleType) else value)


sys.modules[__name__].__class__ = _Package
