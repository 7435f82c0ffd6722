import os
from pathlib import Path

import pytest

from support.locations import identify
from tokverify.errors import BrokenFileError, TokverifyError
from tokverify.references.location import repository, repository_of_url
from tokverify.sources.location import file_and_rest

KINDS = {"rebuilt", "hub", "tokenizers"}.__contains__


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(name: str, content: bytes) -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return str(path)

    return write


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("tokenizer.json", b"{}", "tokenizers"),
        ("tokenizer.json", b"\xff", "tokenizers"),
        ("fox", b'\n  {"model": 1}', "tokenizers"),
        ("fox.model", b"{}", "tokenizers"),
        ("tokenizer.model", b"\xff", "sentencepiece"),
        ("fox.bin", b"\n\x0e\n\x05<unk>\x15", "sentencepiece"),
        ("tokenizer.model", b"IQ== 0\nIg== 1\n", "tiktoken"),
        ("fox.tiktoken", b"IQ== 0", "tiktoken"),
        ("fox.json", b'{ "config": {"pattern": "x"', "tekken"),
        ("tekken_2.json", b"{}", "tekken"),
        ("fox.bin", b"GGUF\x03\0\0\0", "gguf"),
    ],
)
def test_a_file_is_recognized_by_its_content_or_else_by_its_name(write, name, content, kind):
    path = write(name, content)
    assert identify(path, KINDS) == (kind, path)


def test_a_file_named_like_a_gguf_file_that_is_none_is_called_so(write):
    path = write("fox.gguf", b"some text")
    with pytest.raises(BrokenFileError, match="not a GGUF file, in spite of its name"):
        identify(path, KINDS)


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        (b"", BrokenFileError, "the file is empty"),
        (b"some text", BrokenFileError, "not a tokenizer; it looks like text; name a tokenizer.json"),
        (b"version https://git-lfs.github.com/spec/v1\n", BrokenFileError, "Git LFS pointer.*git lfs pull"),
    ],
)
def test_a_file_that_is_not_a_reference_is_refused(write, content, error, message):
    path = write("fox.bin", content)
    with pytest.raises(error, match=message) as caught:
        identify(path, KINDS)
    assert str(caught.value).startswith(path)


def test_a_tilde_means_the_home_directory_unless_a_file_has_that_name(write, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    write("home/fox.json", b"{}")
    assert identify("~/fox.json", KINDS) == ("tokenizers", str(tmp_path / "home/fox.json"))
    write("~no-such-user.json", b"{}")
    assert identify("./~no-such-user.json", KINDS) == ("tokenizers", "~no-such-user.json")
    with pytest.raises(BrokenFileError, match="cannot be read"):
        identify("~no-such-user/fox.json", KINDS)


def test_a_directory_means_the_first_tokenizer_in_it(write, tmp_path):
    write("ref/spiece.model", b"\n\x0e\n\x05")
    assert identify("ref", KINDS) == ("sentencepiece", str(Path("ref/spiece.model")))
    write("ref/tokenizer.model", b"\n\x0e\n\x05")
    assert identify("ref", KINDS)[1].endswith("tokenizer.model")
    write("ref/tokenizer.json", b"{}")
    assert identify(str(tmp_path / "ref"), KINDS)[0] == "tokenizers"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("tekken.json", "tekken"),
        ("tiktoken.model", "tiktoken"),
        ("qwen.tiktoken", "tiktoken"),
        ("a.tiktoken", "tiktoken"),
    ],
)
def test_the_only_tokenizer_in_a_directory_is_found(write, name: str, kind: str):
    write(f"ref/{name}", b'{"config": {"pattern": "x"}}' if kind == "tekken" else b"IQ== 0\n")
    assert identify("ref", KINDS) == (kind, str(Path("ref") / name))


def test_the_error_for_a_directory_without_a_tokenizer_lists_its_contents(write, tmp_path):
    (tmp_path / "ref").mkdir()
    with pytest.raises(BrokenFileError, match=r"ref: contains no tokenizer\.json, .* because it is empty"):
        identify("ref", KINDS)
    for letter in "abcdefghijkl":
        write(f"ref/{letter}", b"")
    with pytest.raises(BrokenFileError, match=r"only a, b, c, d, e, f, g, h, i, j and 2 more"):
        identify("ref", KINDS)


def test_a_directory_without_read_permission_is_an_error(write, tmp_path, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied")

    (tmp_path / "ref").mkdir()
    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(BrokenFileError, match=r"ref: cannot be read \(Permission denied\)"):
        identify("ref", KINDS)


def test_a_file_without_read_permission_is_an_error(write, monkeypatch):
    def refuse(path, mode):
        raise PermissionError(13, "Permission denied")

    path = write("tokenizer.json", b"{}")
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(BrokenFileError, match=r"tokenizer\.json: cannot be read \(Permission denied\)"):
        identify(path, KINDS)


def test_a_path_that_exists_comes_before_a_hub_id(write):
    assert identify("org/name", KINDS) == ("hub", "org/name")
    write("org/name", b"{}")
    assert identify("org/name", KINDS) == ("tokenizers", str(Path("org/name")))
    assert identify("hub:org/name", KINDS) == ("hub", "org/name")


@pytest.mark.parametrize(
    ("location", "meant"),
    [
        ("rebuild", "`rebuilt`"),
        ("Rebuilt", "`rebuilt`"),
        ("llamacpp", "`llama.cpp`"),
        ("tiktokn:gpt2", "`tiktoken:gpt2`"),
    ],
)
def test_the_error_for_a_mistyped_kind_says_what_was_meant(location: str, meant: str):
    with pytest.raises(TokverifyError) as caught:
        identify(location, KINDS, ["rebuilt", "llama.cpp", "tiktoken"])
    assert str(caught.value).endswith(f"; did you mean {meant}?")


@pytest.mark.parametrize("location", ["gone.json", "gone", "models/a/b.gguf", ""])
def test_nothing_is_suggested_for_what_resembles_nothing(location: str):
    with pytest.raises(TokverifyError, match="no such file") as caught:
        identify(location, KINDS, ["rebuilt", "llama.cpp", "tiktoken"])
    assert "did you mean" not in str(caught.value)


def test_an_explicit_kind_is_accepted(write):
    assert identify("rebuilt", KINDS) == ("rebuilt", "")
    assert identify("hub:gpt2", KINDS) == ("hub", "gpt2")
    assert identify("tokenizers:odd.bin", KINDS) == ("tokenizers", "odd.bin")


@pytest.mark.parametrize(
    "location", ["", "gone", "gone.json", "dir/gone.json", "./a/b", "/a/b", "a/b/c", "gone:x", "a b/c", "a\0b", "~"]
)
def test_a_name_that_is_neither_a_path_nor_a_hub_id_is_an_error(write, location):
    expected = BrokenFileError if location == "~" else TokverifyError
    with pytest.raises(expected):
        identify(location, KINDS)


@pytest.mark.parametrize("address", ["http://127.0.0.1:8080", "https://example.org/a/b", "http://[::1]:80/"])
def test_an_address_is_a_server_unless_it_is_the_hub(write, address):
    assert identify(address, KINDS) == ("server", address)
    assert identify("https://huggingface.co/org/name", KINDS) == ("hub", "org/name")


def test_a_tiktoken_file_may_be_followed_by_its_pattern(write):
    write("a:b.model", b"IQ== 0\n")
    write("tokenizer.json", b"{}")
    assert identify("a:b.model:(?i:x)", KINDS) == ("tiktoken", "a:b.model:(?i:x)")
    assert file_and_rest("a:b.model:(?i:x)") == (Path("a:b.model"), "(?i:x)")
    assert file_and_rest("a:b.model") is None
    with pytest.raises(TokverifyError, match=r"^'tokenizer\.json:x': no such file"):
        identify("tokenizer.json:x", KINDS)


def test_a_missing_file_is_reported(write):
    with pytest.raises(TokverifyError, match=r"^'dir/gone\.json': no such file or directory, and not a hub id"):
        identify("dir/gone.json", KINDS)


@pytest.mark.parametrize("location", ["~no-such-user-here/x", "x" * 5000])
def test_paths_the_system_refuses_give_one_line(write, location):
    with pytest.raises(TokverifyError) as caught:
        identify(location, KINDS)
    assert "\n" not in str(caught.value)


def test_a_pipe_is_refused_instead_of_waited_for(write, tmp_path):
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(BrokenFileError, match="not a regular file"):
        identify("pipe.json", KINDS)


@pytest.mark.parametrize(
    ("location", "hub_id"),
    [
        ("org/name", "org/name"),
        ("org/name@v1.0", "org/name@v1.0"),
        ("https://huggingface.co/org/name/tree/main", "org/name"),
        ("huggingface.co/org/name.git", "org/name"),
        ("https://huggingface.co/datasets/org/name", None),
        ("name", None),
        ("../org", None),
    ],
)
def test_repository(location, hub_id):
    assert repository(location) == hub_id


def test_an_address_elsewhere_names_no_repository():
    assert repository_of_url("https://example.org/org/name") is None
    assert repository_of_url("org/name") is None


@pytest.mark.parametrize("name", ["vllm", "llama-server", "TEI"])
def test_the_name_of_a_server_says_how_to_name_its_address(name):
    with pytest.raises(TokverifyError, match=rf"named by its address, as in {name.lower()}\+http://"):
        identify(name, KINDS)
