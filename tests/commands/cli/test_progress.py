import pytest
from rich.console import Console

from tokverify.commands.cli import progress
from tokverify.commands.cli.progress import FuzzLine, ProgressBar, StatusLine, fuzz_line
from tokverify.report.fuzz import FuzzCoverage, FuzzProgress, Share


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
        def update(self, task, completed, total):
            totals.append(completed)

        def stop(self):
            totals.append("stopped")

    monkeypatch.setattr(progress, "_start_bar", lambda total, what: totals.append(f"of {total}") or (Bar(), 0))
    return totals


def test_a_bar_appears_after_a_second(monkeypatch, clock, started):
    monkeypatch.setattr("sys.stderr", Terminal())
    with ProgressBar(enabled=True) as bar:
        bar.update(1, 9)
        assert started == []
        clock[0] = 1.5
        bar.update(2, 9)
        bar.update(3, 9)
    assert started == ["of 9", 2, 3, "stopped"]


def test_what_follows_the_last_item_is_named(monkeypatch, clock, started):
    monkeypatch.setattr("sys.stderr", Terminal())
    monkeypatch.setattr(StatusLine, "show", lambda line, text: started.append(text))
    with ProgressBar(enabled=True, then="looking for causes") as bar:
        clock[0] = 1.5
        bar.update(2, 3)
        bar.update(3, 3)
    assert started == ["of 3", 2, 3, "stopped", "looking for causes"]


def test_a_second_model_has_its_own_bar(monkeypatch, clock, started):
    monkeypatch.setattr("sys.stderr", Terminal())
    monkeypatch.setattr(StatusLine, "show", lambda line, text: started.append(text))
    with ProgressBar(enabled=True, then="looking for causes") as bar:
        bar.update(3, 3)
        clock[0] = 1.5
        bar.update(1, 4)
    assert started == ["looking for causes", "of 4", 1, "stopped"]


def test_no_bar_without_a_terminal_or_if_disabled(monkeypatch, clock, started, capsys):
    for enabled in (True, False):
        with ProgressBar(enabled=enabled) as bar:
            clock[0] += 10
            bar.update(1, 9)
        monkeypatch.setattr("sys.stderr", Terminal())
    assert started == []


def test_the_bar_goes_to_stderr(monkeypatch, clock, capsys):
    with ProgressBar(enabled=True) as bar:
        monkeypatch.setattr(bar, "_enabled", True)
        clock[0] = 5
        bar.update(1, 9)
    captured = capsys.readouterr()
    assert captured.out == ""


FAR = FuzzProgress(strings=30_000, failing=12, causes=2, coverage=FuzzCoverage(Share(1, 4), Share(1, 8)))


def test_a_fuzz_line_shows_speed_failures_and_coverage():
    assert fuzz_line(FAR, 2.0) == ("30,000 texts, 15,000/s, 12 fail (2 causes), pieces 25%, merges 12%")
    pieces = FuzzCoverage(Share(1, 4), None)
    assert fuzz_line(FuzzProgress(1, 0, 0, pieces), 2.0) == "1 text, 0/s, 0 fail, pieces 25%"
    assert fuzz_line(FuzzProgress(9, 1, 1, pieces), 3.0) == "9 texts, 3/s, 1 fails (1 cause), pieces 25%"


def test_the_fuzz_line_of_a_long_run_fits_80_columns():
    long = FuzzProgress(
        strings=12_345_678, failing=99_999, causes=100, coverage=FuzzCoverage(Share(999, 1000), Share(999, 1000))
    )
    assert len(fuzz_line(long, 800.0)) <= 78


def test_a_fuzz_line_appears_after_a_second(monkeypatch, clock):
    shown = []

    class Status:
        console = Console(width=25)

        @staticmethod
        def update(text):
            shown.append(text.plain)

        @staticmethod
        def stop():
            shown.append("stopped")

    monkeypatch.setattr(progress, "_start_status", Status)
    monkeypatch.setattr("sys.stderr", Terminal())
    with FuzzLine(enabled=True) as line:
        line.update(FAR)
        assert shown == []
        clock[0] = 2.0
        line.update(FAR)
    assert shown == ["30,000 texts, 15,000/s…", "stopped"]
    with FuzzLine(enabled=False) as line:
        clock[0] = 9.0
        line.update(FAR)
    assert len(shown) == 2


def test_the_fuzz_line_goes_to_stderr(monkeypatch, clock, capsys):
    with FuzzLine(enabled=True) as line:
        monkeypatch.setattr(line, "_enabled", True)
        clock[0] = 5.0
        line.update(FAR)
    assert capsys.readouterr().out == ""
