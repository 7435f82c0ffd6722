"""Choose between the two engines, whose ids are identical: the compiled one where possible, or the pure-Python one."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import ModuleType

from tokverify.errors import MissingLibraryError, TokverifyError, UnsupportedError

VARIABLE = "TOKVERIFY_ENGINE"
"""The environment variable that selects the engine; the option `--engine` sets it, also for child processes."""

AUTO, NATIVE, PYTHON = "auto", "native", "python"
ENGINES = (AUTO, NATIVE, PYTHON)
"""The values of the variable."""

INTERFACE = 13
"""Changes whenever the Python code needs another version of the compiled module."""


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """The engine of one encoder."""

    name: str
    """`native` or `python`."""
    reason: str = ""
    """Why it is not the native one; empty if it is."""


def requested_engine() -> str:
    """Return the engine that the user requests.

    Raises:
        TokverifyError: If the variable has an unknown value.
    """
    name = os.environ.get(VARIABLE) or AUTO
    if name not in ENGINES:
        raise TokverifyError(f"{VARIABLE} is {name!r}; set it to {', '.join(ENGINES[:-1])} or {ENGINES[-1]}")
    return name


def available_engine() -> EngineChoice:
    """Return the engine that encoders use unless their tokenizer prevents it.

    Raises:
        MissingLibraryError: If the native engine is requested and not installed.
        TokverifyError: If an unknown engine is requested.
    """
    requested = requested_engine()
    if requested == PYTHON:
        return EngineChoice(PYTHON, f"{VARIABLE} requests it")
    problem = _load_problem()
    if not problem:
        return EngineChoice(NATIVE)
    if requested == NATIVE:
        raise MissingLibraryError(
            f"the native engine is not available: {problem}; install tokverify with Rust, or set {VARIABLE}=auto"
        )
    return EngineChoice(PYTHON, problem)


def require_requested(choice: EngineChoice) -> None:
    """Check that the encoder of a tokenizer uses the engine that the user requests.

    Raises:
        UnsupportedError: If the native engine is requested and cannot encode with this tokenizer.
    """
    if requested_engine() == NATIVE and choice.name != NATIVE:
        raise UnsupportedError(f"{choice.reason}; set {VARIABLE}=auto to use the Python engine")


def usable_native_module() -> ModuleType | None:
    """Return the compiled module; None if it is not available, or the user requests the Python engine."""
    return None if requested_engine() == PYTHON or _load_problem() else native_module()


def native_module() -> ModuleType:
    """Return the compiled module, which must be available."""
    return import_module("tokverify._native")


@cache
def _load_problem() -> str:
    try:
        module = native_module()
    except ImportError as error:
        is_missing = isinstance(error, ModuleNotFoundError)
        return "it was not compiled when tokverify was installed" if is_missing else f"it cannot be loaded ({error})"
    if getattr(module, "INTERFACE", 0) != INTERFACE:
        return "it was compiled for another version of tokverify; install tokverify again"
    if hasattr(os, "register_at_fork"):  # not on Windows
        os.register_at_fork(before=module.finish_tables)
    return ""
