"""Reading one suite: complaints with their lines, and the cases of a valid file."""

from pathlib import Path

import pytest

from support.paths import ROOT
from support.selection import slow_if
from support.suite_file import ONE_CASE, complaints, write
from tokverify.case import Case
from tokverify.cases.loading import load_cases, load_suites, shipped_suites

BAD_SUITES = {
    "empty file": ("", 1, ["empty", "`cases`"]),
    "only a comment": ("# nothing\n", 1, ["empty"]),
    "not a mapping": ("- a\n", 1, ["a suite is a list"]),
    "no cases": ("suite: a\n", 1, ["no cases"]),
    "empty list of cases": ("cases: []\n", 1, ["no cases"]),
    "cases not a list": ("suite: a\ncases: 5\n", 2, ["cases is 5", "write a list"]),
    "case not a mapping": ("cases:\n  - hello\n", 2, ["a case is the string 'hello'"]),
    "no id": ("cases:\n  - text: x\n", 2, ["no id"]),
    "no text": ("cases:\n  - id: x\n", 2, ["no text"]),
    "unknown field": ("cases:\n  - id: a\n    txt: x\n    text: y\n", 3, ["'txt'", "did you mean 'text'"]),
    "unknown field, nothing near": ("zzz: 1\n" + ONE_CASE, 1, ["'zzz'", "use one of suite, note"]),
    "unknown default": ("defaults:\n  text: x\n" + ONE_CASE, 2, ["defaults", "'text'", "use one of add_special"]),
    "field twice": ("cases:\n  - id: a\n    text: x\n    text: y\n", 4, ["'text' twice", "first on line 3"]),
    "id twice": ("cases:\n  - {id: a, text: x}\n  - {id: a, text: y}\n", 3, ["'a' is already used on line 2"]),
    "id twice in a line": ("cases: [{id: a, text: x}, {id: a, text: y}]\n", 1, ["'a' is already used"]),
    "id with a slash": ("cases:\n  - {id: a/b, text: x}\n", 2, ["id is 'a/b'", "letters, digits"]),
    "suite with a space": ("suite: a b\n" + ONE_CASE, 1, ["suite is 'a b'"]),
    "text no": ("cases:\n  - id: a\n    text: no\n", 3, ["text is no", "as true or false", "quote it"]),
    "text 1:30": ("cases:\n  - id: a\n    text: 1:30\n", 3, ["text is 1:30", "as a number", "quote it"]),
    "text ~": ("cases:\n  - id: a\n    text: ~\n", 3, ["text is ~", "as nothing", "quote it"]),
    "text 2024-01-01": ("cases:\n  - id: a\n    text: 2024-01-01\n", 3, ["2024-01-01", "a date", "quote it"]),
    "text 1e3 and dot": ("cases:\n  - id: a\n    text: 1.5e+3\n", 3, ["1.5e+3", "as a number"]),
    "text =": ("cases:\n  - id: a\n    text: =\n", 3, ["text is =", "quote it"]),
    "text missing after colon": ("cases:\n  - id: a\n    text:\n", 3, ["text is empty", 'write ""']),
    "text a list": ("cases:\n  - id: a\n    text: [x]\n", 3, ["text is a list", "write a string"]),
    "text with a tag": ("cases:\n  - id: a\n    text: !!binary aGk=\n", 3, ["tag", "binary", "quote the value"]),
    "id a mapping": ("cases:\n  - {id: {a: b}, text: x}\n", 2, ["id is a mapping", "write a string"]),
    "id a number": ("cases:\n  - id: 7\n    text: x\n", 2, ["id is 7", "quote it"]),
    "note no": ("cases:\n  - {id: a, text: x, note: no}\n", 2, ["note is no", "quote it"]),
    "merge key": ("cases:\n  - {<<: {text: x}, id: a, text: x}\n", 2, ["<<", "a merge key"]),
    "list as a field name": ("? [a]\n: b\n" + ONE_CASE, 1, ["a field name", "a list"]),
    "tags a string": ("cases:\n  - {id: a, text: x, tags: t}\n", 2, ["tags is the string 't'", "[a, b]"]),
    "tag a boolean": ("cases:\n  - {id: a, text: x, tags: [on]}\n", 2, ["a tag is on", "quote it"]),
    "tag with a space": ("cases:\n  - {id: a, text: x, tags: [a b]}\n", 2, ["a tag is 'a b'"]),
    "add_special yes": ("defaults: {add_special: yes}\n" + ONE_CASE, 1, ["add_special is yes", "true or false"]),
    "parse_special quoted": (
        'cases:\n  - {id: a, text: x, parse_special: "true"}\n',
        2,
        ["parse_special is the string 'true'", "write true or false"],
    ),
    "expect a list": ("cases:\n  - {id: a, text: x, expect: [1]}\n", 2, ["expect is a list"]),
    "expect ids a number": ("cases:\n  - {id: a, text: x, expect: {g: 1}}\n", 2, ["ids of 'g'", "write a list"]),
    "expect negative": ("cases:\n  - {id: a, text: x, expect: {g: [1, -2]}}\n", 2, ["id of 'g' is -2", "from 0"]),
    "expect octal": ("cases:\n  - {id: a, text: x, expect: {g: [010]}}\n", 2, ["is 010", "whole number"]),
    "expect true": ("cases:\n  - {id: a, text: x, expect: {g: [true]}}\n", 2, ["is true", "whole number"]),
    "expect too high": ("cases:\n  - {id: a, text: x, expect: {g: [2147483648]}}\n", 2, ["is 2147483648"]),
    "expect mixed": (
        "cases:\n  - id: a\n    text: x\n    expect:\n      g:\n        - std\n        - 42\n",
        7,
        ["list of 'g' mixes", "quote every piece"],
    ),
    "expect a mapping in a list": ("cases:\n  - {id: a, text: x, expect: {g: [a, {b: c}]}}\n", 2, ["of 'g' mixes"]),
    "repeat 0": ("cases:\n  - {id: a, text: x, repeat: 0}\n", 2, ["repeat is 0", "from 1 to 1000000"]),
    "repeat a string": ('cases:\n  - {id: a, text: x, repeat: "3"}\n', 2, ["repeat is the string '3'"]),
    "repeat empty": ("cases:\n  - {id: a, text: x, repeat: }\n", 2, ["repeat is empty"]),
    "repeat too long": (f"cases:\n  - {{id: a, text: {'x' * 3}, repeat: 1000000}}\n", 2, ["1,000,000"]),
    "tab as indentation": ("cases:\n\t- id: a\n", 2, ["not valid YAML", "spaces, not tabs"]),
    "open bracket": ("cases: [{id: a, text: x\n", 2, ["not valid YAML", "check indentation"]),
    "unknown escape": ('cases:\n  - {id: a, text: "\\q"}\n', 2, ["not valid YAML", "escape"]),
    "lone surrogate": ('cases:\n  - {id: a, text: "\\ud800"}\n', 2, ["\\U and eight digits"]),
    "above Unicode": ('cases:\n  - {id: a, text: "\\U00110000"}\n', 2, ["not valid YAML"]),
    "raw NUL": ('cases:\n  - {id: a, text: "\0"}\n', 2, ["U+0000", "\\u0000"]),
    "raw line separator": ('cases:\n  - {id: a, text: "x\u2028y"}\n', 2, ["U+2028", "\\u2028"]),
    "raw next line": ('cases:\n  - {id: a, text: "x\x85y"}\n', 2, ["U+0085", "\\u0085"]),
    "two documents": (ONE_CASE + "---\n" + ONE_CASE, 2, ["second YAML document"]),
    "unknown alias": ("cases:\n  - {id: a, text: *x}\n", 2, ["an alias (*) has no finished anchor"]),
    "alias of itself": ("cases: &x\n  - *x\n", 2, ["an alias (*) has no finished anchor", "finished anchor"]),
    "nested too deep": ("cases:\n  " + "[" * 100_000, 2, ["deep"]),
    "alias bomb": (
        "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 30)),
        5,
        ["1,000,000", "aliases expanded"],
    ),
    "too many values": ("cases: [" + "x," * 1_000_001 + "]\n", 1, ["more than 1,000,000 values; split the file"]),
}


@pytest.mark.parametrize(
    ("text", "line", "fragments"), slow_if(lambda text, *_: len(text) > 1_000_000, BAD_SUITES.values()), ids=BAD_SUITES
)
def test_bad_suite(tmp_path: Path, text: str, line: int, fragments: list[str]):
    path = write(tmp_path, text)
    first = complaints(path)[0]
    assert first.startswith(f"{path}:{line}: ")
    assert "; " in first, "a complaint says what to do"
    for fragment in fragments:
        assert fragment in first


def test_all_errors_are_reported_at_once_by_line(tmp_path: Path):
    text = "cases:\n  - id: a\n    text: no\n    oops: 1\n  - id: a\n    text: 5\n"
    lines = complaints(write(tmp_path, text))
    assert [line.split(":")[1] for line in lines] == ["3", "4", "5", "6"]


def test_too_many_complaints_are_counted(tmp_path: Path):
    lines = complaints(write(tmp_path, "cases:\n" + "  - {id: a}\n" * 200))
    assert len(lines) == 101
    assert "more complaints omitted" in lines[-1]


def test_errors_hide_nothing_and_escape_everything(tmp_path: Path):
    [line, *_] = complaints(write(tmp_path, 'cases:\n  - {id: "\\e[31m\\u202e", text: x}\n'))
    assert "\\x1b[31m\\u202e" in line
    assert line.isprintable()


@pytest.mark.parametrize("data", [b"cases:\n  - id: \xff\n", "cases: []".encode("utf-16")])
def test_file_that_is_not_utf8(tmp_path: Path, data: bytes):
    path = tmp_path / "suite.yaml"
    path.write_bytes(data)
    [line] = complaints(path)
    assert line.startswith(f"{path}:{2 if data.startswith(b'cases') else 1}: ")
    assert "not UTF-8" in line


def test_file_that_is_too_large(tmp_path: Path):
    path = tmp_path / "suite.yaml"
    with path.open("wb") as file:
        file.truncate(16 * 2**20 + 1)
    assert "larger than 16 MiB" in complaints(path)[0]


def test_every_field_is_read(tmp_path: Path):
    path = write(
        tmp_path,
        "suite: demo\n"
        "note: what it is\n"
        "defaults: {add_special: true, parse_special: false, tags: [one, two]}\n"
        "cases:\n"
        "  - id: full\n"
        '    text: "a\\tb\\u00e9"\n'
        "    tags: [two, three]\n"
        "    note: why\n"
        "    add_special: false\n"
        "    parse_special: true\n"
        '    expect: {gemma-3: [0, 2147483647], empty: [], llama: [▁a, "42", "\\n"]}\n'
        "    repeat: 2\n"
        "  - {id: bare, text: plain words}\n",
    )
    full, bare = load_cases([str(path)])
    assert full == Case(
        id="full",
        suite="demo",
        text="a\tbéa\tbé",
        tags=("one", "two", "three"),
        note="why",
        add_special=False,
        parse_special=True,
        expect={"gemma-3": (0, 2147483647), "empty": (), "llama": ("▁a", "42", "\n")},
        file=str(path),
        line=5,
    )
    assert bare == Case(
        id="bare",
        suite="demo",
        text="plain words",
        tags=("one", "two"),
        add_special=True,
        parse_special=False,
        file=str(path),
        line=13,
    )


def test_omitted_fields_have_the_defaults_of_case_and_the_file_stem(tmp_path: Path):
    path = write(tmp_path, ONE_CASE, "my suite.yml")
    assert load_cases([path]) == [Case(id="a", suite="my-suite", text="x", file=str(path), line=1)]


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ('""', ""),
        ("' no '", " no "),
        ('"\\0\\U0001f600"', "\0😀"),
        ("|\n      two\n        lines", "two\n  lines\n"),
        ("!!str 5", "5"),
        ("'\\n'", "\\n"),
    ],
)
def test_text_as_written(tmp_path: Path, written: str, text: str):
    [case] = load_cases([write(tmp_path, f"cases:\n  - id: a\n    text: {written}\n")])
    assert case.text == text


def test_anchors_and_a_byte_order_mark_are_fine(tmp_path: Path):
    text = "\ufeffcases:\n  - {id: a, text: &t hello, tags: &g [x]}\n  - {id: b, text: *t, tags: *g}\n"
    a, b = load_cases([write(tmp_path, text)])
    assert (a.text, a.tags) == (b.text, b.tags) == ("hello", ("x",))


def test_the_slow_yaml_parser_agrees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import yaml

    fast = load_cases([shipped_suites() / "emoji.yaml"])
    monkeypatch.delattr(yaml, "CSafeLoader")
    assert load_cases([shipped_suites() / "emoji.yaml"]) == fast
    surrogate = write(tmp_path, 'cases:\n  - {id: a, text: "\\ud800"}\n')
    assert "lone surrogate" in complaints(surrogate)[0]
    assert "not valid YAML" in complaints(write(tmp_path, 'cases: "\\U00110000"\n'))[0]


def test_hints(tmp_path: Path):
    path = write(
        tmp_path,
        "cases:\n"
        "  - {id: a, text: 'tab\\t', note: n}\n"
        '  - {id: b, text: "tab\\\\t", note: n}\n'
        '  - {id: c, text: "no\xa0break", note: n}\n'
        "  - {id: d, text: fine}\n"
        "  - {id: e, text: same, note: n}\n"
        "  - {id: f, text: same, note: n, add_special: true}\n"
        "  - {id: g, text: same, note: n}\n",
    )
    found = sorted(load_suites([path])[0].hints)
    assert [int(hint.split(":")[1]) for hint in found] == [2, 3, 4, 5, 8]
    for hint, fragment in zip(
        found,
        ["backslash and 't'", "b repeats a on line 2", "U+00A0", "d has no note", "g repeats e on line 6"],
        strict=True,
    ):
        assert fragment in hint


def test_the_example_in_the_documentation(tmp_path: Path):
    page = (ROOT / "docs" / "cases.md").read_text(encoding="utf-8")
    example = page.split("```yaml\n")[1].split("```")[0]
    cases = load_cases([write(tmp_path, example)])
    assert [len(case.text) for case in cases] == [10, 22, 25, 28, 5000]
    assert [hint for suite in load_suites([tmp_path]) for hint in suite.hints] == []
