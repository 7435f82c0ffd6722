"""What `tokverify` and `python -m tokverify` run: the command line, with what ends it early taken care of.

As little as possible is imported before `main`, which can only answer Ctrl-C from there on.
"""

from __future__ import annotations

import sys

_INTERRUPTED = 130


def main() -> None:
    """Run the command line; an interrupt is met from here on, while most modules are yet to be imported."""
    try:
        _clean_up_when_told_to_end()
        from tokverify.cli import main as command_line

        command_line(prog_name="tokverify")
    except KeyboardInterrupt:
        _tell_of_interrupt()
        sys.exit(_INTERRUPTED)
    finally:
        _let_signals_end_it()


def _clean_up_when_told_to_end() -> None:
    """Leave no temporary file and no child process behind when the terminal is closed or the run is terminated."""
    import signal

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # `nohup` has SIGHUP ignored, and that must stay so.
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _leave)


def _leave(number: int, _: object) -> None:
    # 128 and the number is what a shell makes of a process that a signal has ended.
    sys.exit(128 + number)


def _tell_of_interrupt() -> None:
    try:
        sys.stderr.write("interrupted\n")
        sys.stderr.flush()
    except (OSError, AttributeError):
        # It is full or closed, so the exit code is all that is left to tell; Python would fail on it again on exit.
        sys.stderr = None


def _let_signals_end_it() -> None:
    """Have a signal end the process at once while Python takes itself down, where a handler could only do harm."""
    import signal

    for number in (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        if signal.getsignal(number) in {signal.default_int_handler, _leave}:
            signal.signal(number, signal.SIG_DFL)


if __name__ == "__main__":
    main()
