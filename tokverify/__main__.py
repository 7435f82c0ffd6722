"""What `tokverify` and `python -m tokverify` run: the command line, with what ends it early taken care of."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn

_INTERRUPTED = 130


def main() -> None:
    """Run the command line; an interrupt is met from here on, while most modules are yet to be imported."""
    try:
        _clean_up_when_told_to_end()
        from tokverify.cli import main as command_line

        command_line(prog_name="tokverify")
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(_INTERRUPTED)


def _clean_up_when_told_to_end() -> None:
    """Leave no temporary file and no child process behind when the terminal is closed or the run is terminated."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # `nohup` has SIGHUP ignored, and that must stay so.
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _leave)


def _leave(number: int, _: object) -> NoReturn:
    # 128 and the number is what a shell makes of a process that a signal has ended.
    sys.exit(128 + number)


if __name__ == "__main__":
    main()
