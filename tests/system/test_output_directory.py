import os
import time
from pathlib import Path

import pytest

from tokverify.errors import TokverifyError
from tokverify.system.output_file import check_output, stage_output


def contents(directory: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in directory.iterdir()}


def fill(output: Path, names: str = "ab") -> None:
    with stage_output(output) as directory:
        for name in names:
            (directory / name).write_text(f"new {name}")


def test_a_new_directory_appears_whole(tmp_path: Path):
    output = tmp_path / "out"
    with stage_output(output) as directory:
        (directory / "a").write_text("new a")
        assert not output.exists()
    assert contents(output) == {"a": "new a"}
    assert list(tmp_path.iterdir()) == [output]


def test_other_files_in_the_directory_are_kept(tmp_path: Path):
    (tmp_path / "a").write_text("old a")
    (tmp_path / "z").write_text("old z")
    fill(tmp_path)
    assert contents(tmp_path) == {"a": "new a", "b": "new b", "z": "old z"}


def test_leftovers_of_a_killed_run_are_removed_unless_they_hold_replaced_files(tmp_path: Path):
    two_days_ago = time.time() - 2 * 24 * 3600
    for name, parts in ((".a.1.tokverify.tmp", "new"), (".a.2.tokverify.tmp", "old"), (".a.3.tokverify.tmp", "new")):
        (tmp_path / name / parts).mkdir(parents=True)
        written = tmp_path / name / parts / "a"
        written.write_text("half")
        for path in (written, written.parent, tmp_path / name):
            if path != written or name != ".a.3.tokverify.tmp":
                os.utime(path, (two_days_ago, two_days_ago))
    fill(tmp_path / "out")
    # One that is fresh may belong to a run that is at work just now.
    assert sorted(path.name for path in tmp_path.iterdir()) == [".a.2.tokverify.tmp", ".a.3.tokverify.tmp", "out"]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), TokverifyError("no"), OSError(28, "No space left on device")])
@pytest.mark.parametrize("exists", [False, True])
def test_a_failure_leaves_nothing(tmp_path: Path, error: BaseException, exists: bool):
    output = tmp_path / "out"
    if exists:
        output.mkdir()
        (output / "a").write_text("old a")

    def fail():
        with stage_output(output) as directory:
            (directory / "a").write_text("half")
            raise error

    wanted = TokverifyError if isinstance(error, OSError) else type(error)
    with pytest.raises(wanted) as raised:
        fail()
    assert wanted is not TokverifyError or str(raised.value).endswith(("No space left on device", "no"))
    assert list(tmp_path.iterdir()) == ([output] if exists else [])
    assert not exists or contents(output) == {"a": "old a"}


@pytest.mark.parametrize("failing", range(5))
def test_a_failure_while_moving_puts_everything_back(tmp_path: Path, monkeypatch, failing: int):
    (tmp_path / "a").write_text("old a")
    (tmp_path / "b").write_text("old b")
    rename, calls = Path.rename, []

    def interrupted(self: Path, target: Path) -> Path:
        calls.append(target)
        if len(calls) == failing + 1:
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", interrupted)
    if failing < 4:
        with pytest.raises(KeyboardInterrupt):
            fill(tmp_path)
        assert contents(tmp_path) == {"a": "old a", "b": "old b"}
    else:
        fill(tmp_path)
        assert contents(tmp_path) == {"a": "new a", "b": "new b"}


def test_an_unwritable_output_is_refused_before_the_work(tmp_path: Path):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "empty").mkdir()
    corpus = tmp_path / "file"
    for output, message in (
        (tmp_path / "file", "it is a file"),
        (tmp_path / "absent" / "out", "absent is not a directory; create it first"),
        (tmp_path, "it contains the input"),
    ):
        with pytest.raises(TokverifyError, match=message):
            check_output(output, force=True, inputs=[corpus])
    with pytest.raises(TokverifyError, match="overwrite them with --force"):
        check_output(tmp_path, force=False, inputs=[])
    check_output(tmp_path, force=True, inputs=[])
    check_output(tmp_path / "empty", force=False, inputs=[corpus])
    check_output(tmp_path / "new", force=False, inputs=[corpus])


def test_a_directory_is_never_replaced_by_a_file(tmp_path: Path):
    kept = tmp_path / "b" / "kept"
    kept.parent.mkdir()
    kept.write_text("kept")
    (tmp_path / "a").write_text("old a")
    with pytest.raises(TokverifyError, match="b: is a directory, but a file would be written there"):
        fill(tmp_path)
    assert (kept.read_text(), (tmp_path / "a").read_text()) == ("kept", "old a")


def test_a_broken_link_is_refused_before_the_work(tmp_path: Path):
    (tmp_path / "out").symlink_to(tmp_path / "nowhere")
    with pytest.raises(TokverifyError, match="out: cannot write there: it is a broken symbolic link"):
        check_output(tmp_path / "out", force=False, inputs=[])


def test_nothing_is_written_into_a_directory_of_git(tmp_path: Path):
    (tmp_path / ".git").mkdir()
    output = tmp_path / ".git" / "out"
    with pytest.raises(TokverifyError, match="belongs to git"):
        check_output(output, force=True, inputs=[])
    with pytest.raises(TokverifyError, match="belongs to git"):
        fill(output)
    assert not [*(tmp_path / ".git").iterdir()]
