"""Run the command line for `tokverify` and `python -m tokverify`, and handle signals from the start.

As little as possible is imported before `main`, since Ctrl-C can be handled only from then on.
"""

from __future__ import annotations

import sys

_INTERRUPTED = 130
_NEW_OBJECTS = 50_000


def main() -> None:
    """Run the command line. From here on, interrupts are handled, even while modules are being imported."""
    try:
        _exit_cleanly_on_signals()
        _run()
    except KeyboardInterrupt:
        _report_interrupt()
        sys.exit(_INTERRUPTED)
    finally:
        _restore_signal_handlers()


def _run() -> None:
    from tokverify.system.quick_exit import prepare_quick_exit, set_exit_code

    prepare_quick_exit()
    _collect_rarely()
    from tokverify.commands.cli import main as command_line

    try:
        command_line(prog_name="tokverify")
    except SystemExit as end:
        set_exit_code(end.code)
        raise


def _collect_rarely() -> None:
    """Search less often for objects that refer to each other: of the many that imports and tables make, few do."""
    import gc

    gc.set_threshold(_NEW_OBJECTS)


def _exit_cleanly_on_signals() -> None:
    """Leave no temporary files or child processes behind if the terminal is closed or the run is terminated."""
    import signal

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # `nohup` ignores SIGHUP, and that must stay so.
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _exit)


def _exit(number: int, _: object) -> None:
    from tokverify.errors import EndedBySignalError

    # Shells report a process that was ended by a signal as 128 plus the number of the signal.
    raise EndedBySignalError(128 + number)


def _report_interrupt() -> None:
    try:
        sys.stderr.write("interrupted\n")
        sys.stderr.flush()
    except (OSError, AttributeError):
        # stderr is full or closed, so the exit code has to suffice. Otherwise Python would fail again on exit.
        sys.stderr = None


def _restore_signal_handlers() -> None:
    """Restore default signal handling during interpreter shutdown, when a handler could only do harm."""
    import signal

    for number in (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        if signal.getsignal(number) in {signal.default_int_handler, _exit}:
            signal.signal(number, signal.SIG_DFL)


if __name__ == "__main__":
    main()
