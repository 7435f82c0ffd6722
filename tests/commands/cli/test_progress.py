import pytest
from click.testing import CliRunner
from rich.console import Console

from support.paths import SAMPLE
from tokverify.commands.cli import main, progress
from tokverify.commands.cli.progress import READING, FuzzLine, ProgressBar, StatusLine, fuzz_line
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


@pytest.fixture
def lines(monkeypatch, started):
    """Record the texts of status lines between what `started` records."""
    monkeypatch.setattr(StatusLine, "show", lambda line, text: started.append(text))
    return started


def test_a_bar_appears_after_a_second(monkeypatch, clock, lines):
    monkeypatch.setattr("sys.stderr", Terminal())
    with ProgressBar(enabled=True) as bar:
        bar.update(1, 9)
        clock[0] = 1.5
        bar.update(2, 9)
        bar.update(3, 9)
    assert lines == [READING, "of 9", 2, 3, "stopped"]


def test_what_precedes_the_first_item_and_follows_the_last_one_is_named(monkeypatch, clock, lines):
    monkeypatch.setattr("sys.stderr", Terminal())
    with ProgressBar(enabled=True, first="reading", then="looking for causes") as bar:
        clock[0] = 1.5
        bar.update(2, 3)
        bar.update(3, 3)
    assert lines == ["reading", "of 3", 2, 3, "stopped", "looking for causes"]


def test_a_second_model_has_its_own_bar(monkeypatch, clock, lines):
    monkeypatch.setattr("sys.stderr", Terminal())
    with ProgressBar(enabled=True, then="looking for causes") as bar:
        bar.update(3, 3)
        clock[0] = 1.5
        bar.update(1, 4)
    assert lines == [READING, "looking for causes", "of 4", 1, "stopped"]


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


def test_a_fuzz_line_appears_at_once(monkeypatch, clock):
    shown = []

    class Status:
        console = Console(width=26)

        @staticmethod
        def update(text):
            shown.append(text.plain)

        @staticmethod
        def stop():
            shown.append("stopped")

    monkeypatch.setattr(progress, "_start_status", Status)
    monkeypatch.setattr("sys.stderr", Terminal())
    with FuzzLine(enabled=True) as line:
        clock[0] = 2.0
        line.update(FAR)
    assert shown == [READING, "30,000 texts, 15,000/s,…", "stopped"]
    with FuzzLine(enabled=False) as line:
        line.update(FAR)
    assert len(shown) == 3


def test_the_fuzz_line_goes_to_stderr(monkeypatch, clock, capsys):
    with FuzzLine(enabled=True) as line:
        monkeypatch.setattr(line, "_enabled", True)
        clock[0] = 5.0
        line.update(FAR)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "sample.gguf"],
        ["check", "sample.gguf", "--only", "run"],
        ["fuzz", "sample.gguf", "--texts", "1"],
        ["chat", "sample.gguf"],
        ["diff", "sample.gguf", "sample.gguf"],
        ["explain", "sample.gguf", "a"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_command_says_that_it_reads_the_tokenizers(monkeypatch, lines, arguments):
    monkeypatch.chdir(SAMPLE)
    CliRunner().invoke(main, arguments)
    assert lines[0] == READING
