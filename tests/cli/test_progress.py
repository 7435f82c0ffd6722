import pytest

from tokverify.cli import progress
from tokverify.cli.progress import ProgressBar


class Terminal:
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def started(monkeypatch):
    """Record totals of the bars that are started, instead of drawing them."""
    totals = []

    class Bar:
        def update(self, task, completed):
            totals.append(completed)

        def stop(self):
            totals.append("stopped")

    monkeypatch.setattr(progress, "_start_bar", lambda total: totals.append(f"of {total}") or (Bar(), 0))
    return totals


def test_a_bar_appears_once_it_takes_long(monkeypatch, clock, started):
    monkeypatch.setattr("sys.stderr", Terminal())
    with ProgressBar(wanted=True) as bar:
        bar.update(1, 9)
        assert started == []
        clock[0] = 1.5
        bar.update(2, 9)
        bar.update(3, 9)
    assert started == ["of 9", 2, 3, "stopped"]


def test_no_bar_off_a_terminal_or_where_unwanted(monkeypatch, clock, started, capsys):
    for wanted in (True, False):
        with ProgressBar(wanted=wanted) as bar:
            clock[0] += 10
            bar.update(1, 9)
        monkeypatch.setattr("sys.stderr", Terminal())
    assert started == []


def test_the_bar_goes_to_stderr(monkeypatch, clock, capsys):
    with ProgressBar(wanted=True) as bar:
        monkeypatch.setattr(bar, "_wanted", True)
        clock[0] = 5
        bar.update(1, 9)
    captured = capsys.readouterr()
    assert captured.out == ""
