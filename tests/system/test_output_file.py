"""Files appear whole or not at all, whatever they are called and wherever they are."""

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tokverify.errors import TokverifyError
from tokverify.system.output_file import check_place, put_in_place, sync, temporary_beside

LEFT_OVER = ".report.json.0123456789abcdef.tokverify.tmp"
LIMITED = """
import resource, sys
from pathlib import Path
from tokverify.errors import TokverifyError
from tokverify.system.output_file import temporary_beside
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
        put_in_place(temporary, path)


def test_permissions_are_those_of_the_file_that_is_replaced_else_those_of_any_new_file(tmp_path: Path):
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


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="only root can give files away")
def test_so_is_the_owner(tmp_path: Path):
    path = tmp_path / "report.json"
    path.write_text("old")
    os.chown(path, 4321, 4322)
    write(path, "new")
    assert (path.stat().st_uid, path.stat().st_gid) == (4321, 4322)


def test_links_are_followed_also_to_what_is_not_there_yet(tmp_path: Path):
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
    ("to", "complaint"), [("absent/report.json", "is no directory"), ("link.json", "symbolic link")]
)
def test_links_that_lead_nowhere(tmp_path: Path, to: str, complaint: str):
    link = tmp_path / "link.json"
    link.symlink_to(to)
    with pytest.raises(TokverifyError, match=rf"link\.json: cannot be written: .*{complaint}"):
        check_place(link)


@pytest.mark.parametrize("name", ["x" * 255, "é" * 127, "字" * 85])
def test_a_name_may_be_as_long_as_the_system_allows(tmp_path: Path, name: str):
    write(tmp_path / name, "text")
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_name_may_be_no_text(tmp_path: Path):
    path = tmp_path / os.fsdecode(b"caf\xe9.json")
    try:
        path.write_text("")
    except OSError:
        pytest.skip("this file system has no such names")
    write(path, "text")
    assert path.read_text() == "text"


def test_what_a_killed_run_left_is_removed_by_a_later_one(tmp_path: Path):
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
    told = subprocess.run([sys.executable, "-c", LIMITED, tmp_path / "x"], capture_output=True, text=True, check=True)
    assert told.stdout == f"{tmp_path / 'x'}: cannot be written: File too large; make room, or name another place\n"
    assert list(tmp_path.iterdir()) == []


def test_a_place_where_nothing_can_be_created_is_known_beforehand(tmp_path: Path, monkeypatch):
    check_place(tmp_path / "report.json")
    with pytest.raises(TokverifyError, match="absent is no directory; create it first"):
        check_place(tmp_path / "absent" / "report.json")
    # Root may write anywhere, so permissions would prove nothing.
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(TokverifyError, match=r"no file can be created in .*, which is done before one is replaced"):
        check_place(tmp_path / "report.json")
