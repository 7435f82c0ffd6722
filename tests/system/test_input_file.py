"""Files to read that Git LFS has not fetched, that are missing, or of which the system cannot say whether they are."""

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from support.paths import SAMPLE
from tokverify.commands.cli import main
from tokverify.system.input_file import exists

GGUF = str(SAMPLE / "sample.gguf")
POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 41488\n"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("tokenizer.model", ["run", GGUF, "-r", "tokenizer.model"]),
        ("tokenizer.json", ["run", GGUF, "-r", "."]),
        ("x.tiktoken", ["run", GGUF, "-r", "x.tiktoken"]),
        ("tokenizer.json", ["convert", "tokenizer.json", "-o", "x.gguf"]),
        ("ours.yaml", ["run", GGUF, "--cases", "ours.yaml"]),
        ("ours.yaml", ["cases", "check", "ours.yaml"]),
        ("known.yaml", ["run", GGUF, "--baseline", "known.yaml"]),
        ("text.txt", ["train", "bpe", "text.txt", "-o", "out"]),
        ("text.txt", ["inspect", GGUF, "--texts", "text.txt"]),
        ("text.txt", ["fuzz", GGUF, "--corpus", "text.txt"]),
        ("text.txt", ["diff", GGUF, GGUF, "--lines", "text.txt"]),
        ("text.txt", ["encode", GGUF, "--file", "text.txt"]),
        ("report.json", ["report", "show", "report.json"]),
        ("ref/tokenizer_config.json", ["run", GGUF, "-r", "ref"]),
        ("ref/chat_template.jinja", ["chat", GGUF, "-r", "ref"]),
    ],
)
def test_a_git_lfs_pointer_is_refused(tmp_path, monkeypatch, name, arguments):
    monkeypatch.chdir(tmp_path)
    Path("ref").mkdir()
    shutil.copy(SAMPLE / "sample.tokenizer.model", "ref/tokenizer.model")
    Path(name).write_text(POINTER)
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2, result.output
    assert result.stderr == f"error: {name}: a Git LFS pointer, not the file itself; fetch it with `git lfs pull`\n"


def test_a_file_exists_or_not_or_the_system_cannot_say(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").touch()
    assert exists(tmp_path / "file")
    assert not any(map(exists, (tmp_path / "none", tmp_path / "file" / "below", tmp_path / "loop", Path("a\0"))))
    with pytest.raises(OSError, match="File name too long"):
        exists(tmp_path / ("a" * 300))
