"""What a file is that was expected to be another one."""

import pytest

from tokverify.system.content import guess_content, is_recognized, why_broken


@pytest.mark.parametrize(
    ("head", "guess"),
    [
        (b"GGUF\x03\0\0\0", "a GGUF file; name another"),
        (b"PK\x03\x04rest", "a zip archive or a PyTorch checkpoint; unpack it, or convert the model to GGUF"),
        (b"\x80\x02}q\x00.", "a Python pickle; convert the model to GGUF"),
        (b"PAR1\x15\x04", "a Parquet file; name another"),
        (b'\x40\0\0\0\0\0\0\0{"w":', "safetensors; convert the model to GGUF"),
        (b"version https://git-lfs.github.com/spec/v1", "a Git LFS pointer; fetch the file itself with `git lfs pull`"),
        (b"\n<!DOCTYPE html>", "an HTML or XML page; the download may have saved an error page"),
    ],
)
def test_known_kinds_are_named(head: bytes, guess: str):
    assert guess_content(head, "name another") == guess
    assert is_recognized(guess)


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b'\xef\xbb\xbf {"a": 1}', "JSON text"),
        (b"cases:\n- {id: a, text: hi}\n", "text"),
        ("🦙".encode() * 16 + "🦙".encode()[:2], "text"),
        (b"a\0b", "something else"),
        (b"a\xffb", "something else"),
    ],
)
def test_anything_else_is_text_or_not(head: bytes, kind: str):
    guess = guess_content(head, "name another")
    assert (guess, is_recognized(guess)) == (f"{kind}; name another", False)


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        (b"GGUF\x03\0" + b"\r\n\0" * 8, "changed its line ends"),
        (b"GGUF\x03\0" + b"\r\n\0" * 8 + b"\n\0", ""),
        (b"GGUF\x03\0\x80\x00".decode(errors="replace").encode(), "replaced what is not UTF-8 by U+FFFD"),
        ("GGUF\x03\0\N{REPLACEMENT CHARACTER}".encode() + b"\x80", ""),
        (b"GGUF\x03\0" + b"\n" * 8, ""),
        (b"GGUF\x03\0" + b"a" * 5000 + "\N{REPLACEMENT CHARACTER}".encode(), ""),
    ],
    ids=["crlf", "one-lf-left", "replaced", "not-utf-8", "no-cr", "a-token"],
)
def test_a_binary_file_that_was_taken_for_text_is_recognized(head: bytes, reason: str):
    found = why_broken(head)
    assert reason in found
    assert bool(reason) == found.startswith("a program took it for text")
