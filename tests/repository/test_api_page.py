"""The page about the Python API: its examples run, and it mentions every public name."""

import doctest
import re
import shutil

import tokverify
from support.paths import ROOT, SAMPLE

PAGE = ROOT / "docs" / "api.md"
_EXAMPLES = re.compile(r"^```pycon\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_examples_give_what_the_page_shows(tmp_path, monkeypatch):
    for path in SAMPLE.glob("sample*"):
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    session = "\n".join(_EXAMPLES.findall(PAGE.read_text("utf-8")))
    test = doctest.DocTestParser().get_doctest(session, {}, PAGE.name, str(PAGE), 0)
    output: list[str] = []
    results = doctest.DocTestRunner(verbose=False).run(test, out=output.append)
    assert results.attempted > 0
    assert results.failed == 0, "".join(output)


def test_every_public_name_is_mentioned():
    names = set(re.findall(r"`(\w+)`|tokverify\.(\w+)", PAGE.read_text("utf-8")))
    mentioned = {name for pair in names for name in pair}
    mentioned |= set(re.findall(r"`(\w+), (\w+)`", PAGE.read_text("utf-8")))
    assert {name for name in tokverify.__all__ if not name.startswith("__")} - mentioned - {"Encoder", "Case"} == set()
