"""Reading logs of token ids."""

from pathlib import Path

import pytest

from tokverify.errors import TokverifyError
from tokverify.sources import sequence_log
from tokverify.sources.sequence_log import read_log


@pytest.fixture
def write(tmp_path: Path):
    def write(content: str) -> Path:
        path = tmp_path / "log.jsonl"
        path.write_bytes(content.encode("utf-8", "surrogateescape"))
        return path

    return write


@pytest.mark.parametrize(
    ("line", "fields", "ids", "boundaries"),
    [
        ('{"ids": [1, 2]}', (), [1, 2], ()),
        ('{"token_ids": [3], "text": "x"}', (), [3], ()),
        ('{"prompt_ids": [1, 2], "response_ids": [3]}', (), [1, 2, 3], (2,)),
        ('{"prompt_token_ids": [1], "token_ids": [2, 3]}', (), [1, 2, 3], (1,)),
        ('{"a": [1], "b": [], "c": [2]}', ("c", "b", "a"), [2, 1], (1, 1)),
    ],
)
def test_the_fields_with_ids_are_joined(write, line, fields, ids, boundaries):
    (sequence,) = read_log(write(f"\n{line}\n\n"), fields)
    assert (sequence.line, sequence.ids, sequence.boundaries) == (2, ids, boundaries)


@pytest.mark.parametrize(
    ("line", "fields", "message"),
    [
        ("{", (), r"line 1 is not JSON \(.*\); write one object per line$"),
        ("[1]", (), "line 1 is not a JSON object"),
        ("\udcff", (), "line 1 is not JSON"),
        ('{"text": "x"}', (), r"line 1 has none of ids, .*prompt_ids \+ response_ids.*; name its fields with --ids"),
        ('{"ids": "x"}', (), "line 1: 'ids' is not a list of ids"),
        ('{"ids": [true]}', (), "line 1: 'ids' is not a list of ids"),
        ('{"ids": [-1]}', (), "line 1: 'ids' is not a list of ids"),
        ('{"ids": [2147483648]}', (), "line 1: 'ids' is not a list of ids"),
        ('{"ids": [1]}', ("other",), "line 1: 'other' is not a list of ids"),
        ('{"ids": ' + "[" * 100_000, (), "line 1 is not JSON"),
    ],
)
def test_a_line_without_ids_is_reported_with_its_number(write, line, fields, message):
    path = write(line)
    with pytest.raises(TokverifyError, match=message) as caught:
        list(read_log(path, fields))
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_a_line_that_is_too_long_is_not_read_to_its_end(write, monkeypatch):
    monkeypatch.setattr(sequence_log, "_MAX_LINE_BYTES", 1 << 20)
    with pytest.raises(TokverifyError, match="line 2 is longer than 1 MiB, the limit; split it"):
        list(read_log(write('{"ids": []}\n' + " " * (1 << 20) + "\n")))


def test_a_missing_log_is_reported(tmp_path):
    with pytest.raises(TokverifyError, match=r"absent\.jsonl: cannot read the log: "):
        list(read_log(tmp_path / "absent.jsonl"))
