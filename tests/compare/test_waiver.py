"""Waiver files: their contents, and the messages for mistakes."""

import pytest

from tokverify.compare.waiver import read_waivers
from tokverify.errors import TokverifyError
from tokverify.report.audit import Waiver

CODES = ("TV101", "TV103")
GOOD = """\
- code: TV103
  reason: an HTML tag here
  model: gemma-3*
  ids: [212, 300-310]
- code: TV101
  reason: checked by hand
  fingerprint: "01234567"
  message: "*default*"
"""


def test_a_file_is_read(tmp_path):
    path = tmp_path / "waivers.yaml"
    path.write_text(GOOD)
    assert read_waivers(path, CODES) == [
        Waiver(
            code="TV103",
            reason="an HTML tag here",
            model="gemma-3*",
            ids=((212, 212), (300, 310)),
            place=f"{path}:1",
        ),
        Waiver(code="TV101", reason="checked by hand", fingerprint="01234567", message="*default*", place=f"{path}:5"),
    ]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("- code: TV101\n", ":1: a waiver has no reason; add `reason: ...`"),
        ("- code: TV101\n  reason: ' '\n", ":2: reason is empty"),
        ("- reason: x\n", ":1: a waiver has no code"),
        ("- code: TV999\n  reason: x\n", ":1: there is no rule 'TV999'"),
        ("- code: TV101\n  reason: x\n  idz: [1]\n", "did you mean 'ids'?"),
        ("- code: TV101\n  reason: x\n  ids: 5\n", ":3: ids is 5; write a list"),
        ("- code: TV101\n  reason: x\n  ids: [-5]\n", "write a whole number"),
        ("- code: TV101\n  reason: x\n  fingerprint: xyz\n", "8 to 64 lower-case hexadecimal digits"),
        ("- code: TV101\n  reason: no\n", "quote it"),
        ("code: TV101\n", "the file of waivers is a mapping"),
        ("- code: [\n", "not valid YAML"),
        ("", "the file is empty"),
        ("- TV101\n", "a waiver is"),
    ],
)
def test_mistakes_are_reported_with_their_line(tmp_path, text, complaint):
    path = tmp_path / "waivers.yaml"
    path.write_text(text)
    with pytest.raises(TokverifyError) as raised:
        read_waivers(path, CODES)
    assert complaint in str(raised.value)
    assert str(raised.value).startswith(f"{path}:")


def test_an_unreadable_file_is_an_error(tmp_path):
    with pytest.raises(TokverifyError, match="cannot read the waivers"):
        read_waivers(tmp_path / "absent.yaml", CODES)
    (tmp_path / "latin.yaml").write_bytes(b"\xe9")
    with pytest.raises(TokverifyError, match="not UTF-8"):
        read_waivers(tmp_path / "latin.yaml", CODES)
