"""Files appear complete or not at all, regardless of their names and of how a run ends."""

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tokverify.errors import TokverifyError
from tokverify.system.git import git
from tokverify.system.output_file import (
    append_text,
    check_place,
    move_into_place,
    sync,
    temporary_beside,
    write_file,
    write_files,
)

LEFT_OVER = ".report.json.0123456789abcdef.tokverify.tmp"
LIMITED = """
import resource, sys
from pathlib import Path
from tokverify.errors import TokverifyError
from tokverify.system.output_file import temporary_beside
sys.dont_write_bytecode = True  # A cut .pyc file would break every later program.
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    with temporary_beside(Path(sys.argv[1])) as temporary:
        temporary.write_bytes(bytes(2000))
except TokverifyError as error:
    print(error)
"""


def write(path: Path, text: str) -> None:
    with temporary_beside(path) as temporary:
        temporary.write_text(text)
        sync(temporary)
        move_into_place(temporary, path)


def test_permissions_are_kept_or_those_of_a_new_file(tmp_path: Path):
    old, new, plain = tmp_path / "old", tmp_path / "new", tmp_path / "plain"
    old.write_text("old")
    old.chmod(0o640)
    mask = os.umask(0o027)
    try:
        for path in (old, new):
            write(path, "text")
        plain.write_text("text")
    finally:
        os.umask(mask)
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    assert new.stat().st_mode == plain.stat().st_mode


@pytest.mark.parametrize("mode", [0o755, 0o711, 0o604])
def test_a_replaced_file_cannot_be_executed_any_more(tmp_path: Path, mode: int):
    path = tmp_path / "hook"
    path.write_text("old")
    path.chmod(mode)
    write(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == mode & ~0o111


@pytest.mark.parametrize(
    "place",
    [".git/x", ".git", ".Git/a/x", ".git. ./x", ".git::$INDEX_ALLOCATION/x", "GIT~1/x", ".g\u200cit/x", "link/x"],
)
def test_nothing_is_written_into_a_directory_of_git(tmp_path: Path, place: str):
    path = tmp_path / place
    (tmp_path / ".git").mkdir()
    (tmp_path / "link").symlink_to(".git")
    path.parent.mkdir(exist_ok=True, parents=True)
    before = sorted(tmp_path.rglob("*"))
    for fail in (check_place, lambda path: write(path, "text"), lambda path: append_text(path, "text")):
        with pytest.raises(TokverifyError, match=r"cannot be written: .* belongs to git; name another place"):
            fail(path)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", [".github", ".gitignore", ".git-old", "git", "x.git"])
def test_other_names_that_begin_like_that_of_git_are_no_problem(tmp_path: Path, name: str):
    (tmp_path / name).mkdir()
    write(tmp_path / name / "x", "text")
    assert (tmp_path / name / "x").read_text() == "text"


def test_a_link_that_begins_to_lead_to_git_meanwhile_is_not_followed(tmp_path: Path):
    (tmp_path / ".git").mkdir()
    link = tmp_path / "link"
    link.symlink_to("report")
    with temporary_beside(link) as temporary:
        temporary.write_text("text")
        link.unlink()
        link.symlink_to(".git/hook")
        with pytest.raises(TokverifyError, match="belongs to git"):
            move_into_place(temporary, link)
    assert not [*(tmp_path / ".git").iterdir()]


@pytest.mark.parametrize(
    "place", ["separate/hooks/x", "bare.git/x", "separate/worktrees/tree/x", "tree/.git", "bare-with-tree.git/hooks/x"]
)
def test_a_directory_of_git_is_recognized_by_its_content(tmp_path: Path, place: str):
    name = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in (
        ["init", "-q", "--bare", "bare.git"],
        ["init", "-q", "--separate-git-dir", "separate", "work"],
        ["-C", "work", *name, "commit", "-q", "--allow-empty", "-m", "a"],
        ["-C", "work", "worktree", "add", "-q", "../tree"],
        ["clone", "-q", "--bare", "work", "bare-with-tree.git"],
        ["-C", "bare-with-tree.git", "worktree", "add", "-q", "tree"],
    ):
        assert git(*command, directory=tmp_path).returncode == 0
    with pytest.raises(TokverifyError, match="belongs to git"):
        check_place(tmp_path / place)
    for beside in ("work/x", "tree/x", "bare-with-tree.git/tree/x"):
        check_place(tmp_path / beside)


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="only root can give files away")
def test_the_owner_is_kept(tmp_path: Path):
    path = tmp_path / "report.json"
    path.write_text("old")
    os.chown(path, 4321, 4322)
    write(path, "new")
    assert (path.stat().st_uid, path.stat().st_gid) == (4321, 4322)


def test_links_are_followed_even_to_files_that_do_not_exist_yet(tmp_path: Path):
    (tmp_path / "there").mkdir()
    link = tmp_path / "link.json"
    link.symlink_to(Path("there", "report.json"))
    check_place(link)
    write(link, "one")
    write(link, "two")
    assert link.is_symlink()
    assert (tmp_path / "there" / "report.json").read_text() == "two"
    assert len([*tmp_path.rglob("*")]) == 3


@pytest.mark.parametrize(
    ("to", "complaint"), [("absent/report.json", "is not a directory"), ("link.json", "symbolic link")]
)
def test_a_broken_link_is_refused(tmp_path: Path, to: str, complaint: str):
    link = tmp_path / "link.json"
    link.symlink_to(to)
    with pytest.raises(TokverifyError, match=rf"link\.json: cannot be written: .*{complaint}"):
        check_place(link)


@pytest.mark.parametrize("name", ["x" * 255, "é" * 127, "字" * 85])
def test_a_name_can_be_as_long_as_the_system_allows(tmp_path: Path, name: str):
    write(tmp_path / name, "text")
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_name_can_be_invalid_utf8(tmp_path: Path):
    path = tmp_path / os.fsdecode(b"caf\xe9.json")
    try:
        path.write_text("")
    except OSError:
        pytest.skip("this file system has no such names")
    write(path, "text")
    assert path.read_text() == "text"


def test_leftovers_of_a_killed_run_are_removed_by_a_later_run(tmp_path: Path):
    old, fresh, others = tmp_path / LEFT_OVER, tmp_path / LEFT_OVER.replace("0", "f"), tmp_path / ".other.json.tmp"
    for path in (old, fresh, others):
        path.write_text("half")
    two_days_ago = time.time() - 2 * 24 * 3600
    os.utime(old, (two_days_ago, two_days_ago))
    os.utime(others, (two_days_ago, two_days_ago))
    write(tmp_path / "report.json", "whole")
    # One that is fresh may belong to a run that is at work just now.
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([fresh.name, others.name, "report.json"])


def test_a_file_that_cannot_grow_leaves_nothing(tmp_path: Path):
    run = subprocess.run([sys.executable, "-c", LIMITED, tmp_path / "x"], capture_output=True, text=True, check=True)
    assert (
        run.stdout == f"{tmp_path / 'x'}: cannot be written: File too large; free some space, or name another place\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_directory_where_nothing_can_be_created_is_detected_early(tmp_path: Path, monkeypatch):
    check_place(tmp_path / "report.json")
    with pytest.raises(TokverifyError, match="absent is not a directory; create it first"):
        check_place(tmp_path / "absent" / "report.json")
    # Root may write anywhere, so permissions would prove nothing.
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(TokverifyError, match=r"no file can be created in .*, which is necessary even to replace one"):
        check_place(tmp_path / "report.json")


# Writes a large report over and over; says so once it has begun.
WRITER = """
import signal, sys
from pathlib import Path
from tokverify.system.output_file import write_files
# As the command line has it.
signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
letter, *paths = sys.argv[1:]
print("ready", flush=True)
while True:
    write_files({Path(path): letter * 3_000_000 for path in paths})
"""


def writer(letter: str, *paths: Path) -> subprocess.Popen[bytes]:
    process = subprocess.Popen([sys.executable, "-c", WRITER, letter, *map(str, paths)], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    return process


def stop(process: subprocess.Popen[bytes], number: int) -> None:
    process.send_signal(number)
    process.wait()
    process.stdout.close()


def test_all_files_are_written_or_none(tmp_path: Path):
    kept, absent = tmp_path / "kept.json", tmp_path / "missing" / "report.xml"
    kept.write_text("old")
    with pytest.raises(TokverifyError, match=r"report\.xml: cannot be written: No such file or directory"):
        write_files({kept: "new", absent: "new"})
    assert kept.read_text() == "old"
    assert list(tmp_path.iterdir()) == [kept]


@pytest.mark.parametrize("moment", range(3))
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_killed_run_leaves_complete_files_and_does_not_affect_later_runs(tmp_path: Path, number: int, moment: int):
    paths = [tmp_path / "report.json", tmp_path / "report.xml"]
    process = writer("a", *paths)
    time.sleep(moment * 0.004)
    stop(process, number)
    for path in paths:
        assert not path.exists() or path.read_text() == "a" * 3_000_000
    left_over = [path for path in tmp_path.iterdir() if path not in paths]
    assert all(path.name.endswith(".tokverify.tmp") for path in left_over)
    if number != signal.SIGKILL:
        assert left_over == []
    write_files(dict.fromkeys(paths, "later"))
    assert [path.read_text() for path in paths] == ["later", "later"]


def test_two_runs_are_kept_apart(tmp_path: Path):
    path = tmp_path / "report.json"
    processes = [writer(letter, path) for letter in "ab"]
    seen = set()
    deadline = time.monotonic() + 20
    while len(seen) < 2 and time.monotonic() < deadline:
        if path.exists():
            text = path.read_text()
            assert text in {"a" * 3_000_000, "b" * 3_000_000}
            seen.add(text[0])
    for process in processes:
        stop(process, signal.SIGTERM)
    assert seen == {"a", "b"}
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_device_that_fails_keeps_the_files_from_being_replaced(tmp_path: Path):
    kept, new = tmp_path / "kept.json", tmp_path / "new.html"
    kept.write_text("old")
    with pytest.raises(TokverifyError, match="/dev/full: cannot be written: No space left on device"):
        write_files({kept: "new", Path("/dev/full"): "x" * 10, new: "new"})
    assert kept.read_text() == "old"
    assert list(tmp_path.iterdir()) == [kept]


@pytest.mark.skipif(not Path("/dev/fd/1").exists(), reason="no /dev/fd on this system")
@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
@pytest.mark.parametrize("mode", ["wb", "ab"])
def test_output_to_dev_stdout_keeps_its_position(tmp_path: Path, name: str, mode: str):
    log = tmp_path / "log"
    log.write_text("before\n")
    code = (
        "from pathlib import Path; from tokverify.system.output_file import check_writable, write_file\n"
        f"print('first'); check_writable(Path({name!r})); write_file(Path({name!r}), 'report\\n'); print('last')"
    )
    with log.open(mode) as stdout:
        subprocess.run([sys.executable, "-c", code], stdout=stdout, check=True)
    assert log.read_text() == ("before\n" if mode == "ab" else "") + "first\nreport\nlast\n"
    assert list(tmp_path.iterdir()) == [log]


def test_signal_handlers_are_restored(tmp_path: Path):
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    write_file(tmp_path / "report.json", "x")
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


def test_text_is_appended(tmp_path: Path):
    path = tmp_path / "summary.md"
    append_text(path, "one é\n")
    append_text(path, "two\n")
    assert path.read_text(encoding="utf-8") == "one é\ntwo\n"
    with pytest.raises(TokverifyError, match="cannot be written"):
        append_text(tmp_path, "x")
