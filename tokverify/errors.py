"""What can go wrong, as exceptions, and what can end a run early; this module knows nothing of the command line."""

import signal

ENDING_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""The signals that ask a run to end, of those that this system has."""


class TokverifyError(Exception):
    """The run could not be done as asked; the message says what, where, and what to do."""


class BrokenFileError(TokverifyError):
    """An input file is invalid: no reader could use it."""


class UnsupportedError(TokverifyError):
    """An input file is valid but uses a feature tokverify lacks; the message names the key and its value."""


class MissingLibraryError(TokverifyError):
    """An optional library is not installed; the message names the command that installs it."""


class EncodeError(TokverifyError):
    """One text cannot be encoded by this tokenizer; the other texts are unaffected."""
