"""What a file is that was expected to be another one."""

import pytest

from tokverify.system.content import guess_content, is_recognized


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
