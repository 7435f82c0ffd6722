"""Preparation of source files: indentation, license headers and diffs."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tokverify.errors import TokverifyError
from tokverify.train.corpus import STDIN, Preparation, drop_license, frame_commits, open_corpus, prepare, read_blocks


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("// Copyright 2020\n// MIT\n\nint x;\n// Copyright of x\n", "int x;\n// Copyright of x\n"),
        ("/*\n * Licensed under the\n * Apache License\n */\n#pragma once\n", "#pragma once\n"),
        ("/* SPDX-License-Identifier: MIT */\nint x;\n", "int x;\n"),
        ("// A vector.\nint x;\n", "// A vector.\nint x;\n"),
        ("int x; // license\n", "int x; // license\n"),
        ("", ""),
    ],
)
def test_only_leading_comments_about_a_license_are_left_out(text: str, kept: str):
    assert list(drop_license(text.splitlines())) == kept.splitlines()


MAIL = """\
From 0123456789abcdef Mon Sep 17 00:00:00 2001
From: A <a@b.c>
Subject: [PATCH 1/2] Fix null pointer dereference

Longer text.
---
 f.cpp | 2 ++
 1 file changed

diff --git a/f.cpp b/f.cpp
index 1a2b3c4..5d6e7f8 100644
--- a/f.cpp
+++ b/f.cpp
@@ -1,2 +1,2 @@
 void f(char* buf) {
+    if (!buf) return;
-- removed
--
2.40
"""


def test_a_commit_is_written_as_in_the_design_document():
    assert list(frame_commits(MAIL.splitlines())) == [
        "<DIFF_START>",
        "// COMMIT: Fix null pointer dereference",
        "diff --git a/f.cpp b/f.cpp",
        "index 1a2b3c4..5d6e7f8 100644",
        "--- a/f.cpp",
        "+++ b/f.cpp",
        "@@ -1,2 +1,2 @@",
        " void f(char* buf) {",
        "+    if (!buf) return;",
        "-- removed",
        "<DIFF_END>",
    ]


def test_each_commit_of_a_log_has_its_own_frame():
    log = ["commit 0123456789", "Author: A", "", "    First", "", "--- a/f", "+++ b/f", "@@ -1 +1 @@", "-a", "+b"]
    lines = list(frame_commits([*log, "", *(line.replace("First", "Second") for line in log)]))
    assert [line for line in lines if line.startswith(("<", "//"))] == [
        "<DIFF_START>", "// COMMIT: First", "<DIFF_END>", "<DIFF_START>", "// COMMIT: Second", "<DIFF_END>",
    ]  # fmt: skip


def test_the_indentation_of_a_diff_is_stripped_after_the_sign(tmp_path: Path):
    source, target = tmp_path / "a.diff", tmp_path / "out"
    source.write_text("--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n     x;\n-    y;\n+\tz;\n")
    prepare(source, target, list(Preparation))
    assert target.read_text() == ("<DIFF_START>\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n x;\n-y;\n+z;\n<DIFF_END>\n")


def test_source_code_keeps_its_lines(tmp_path: Path):
    source, target = tmp_path / "a.cpp", tmp_path / "out"
    source.write_text("  int x;\n\n\treturn x;")
    prepare(source, target, [Preparation.INDENTATION, Preparation.DIFFS])
    assert target.read_text() == "int x;\n\nreturn x;\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / "b.cpp").write_text("b\n")
    (tmp_path / "sub" / "a.h.gz").write_bytes(gzip.compress(b"a\n", mtime=0))
    (tmp_path / "sub" / "binary").write_bytes(b"\0\1")
    (tmp_path / "latin1.cpp").write_bytes(b"caf\xe9")
    (tmp_path / ".git" / "config").write_text("hidden\n")
    (tmp_path / ".hidden").write_text("hidden\n")
    return tmp_path


def test_a_directory_means_all_text_files_below_it(folder: Path):
    with open_corpus([folder]) as opened:
        assert "".join(read_blocks(opened.files)) == "b\na\n"
        assert opened.notes == ("left out 2 files that are not UTF-8 text",)


def test_a_named_file_must_be_text(folder: Path):
    with pytest.raises(TokverifyError, match="not UTF-8"), open_corpus([folder / "latin1.cpp"]):
        pass


def test_a_directory_without_text_is_an_error(tmp_path: Path):
    with pytest.raises(TokverifyError, match="no text files to train on"), open_corpus([tmp_path]):
        pass


@pytest.mark.parametrize("data", [b"plain text", gzip.compress(b"text" * 100, mtime=0)[:-9]])
def test_a_damaged_compressed_file_is_an_error(tmp_path: Path, data: bytes):
    (tmp_path / "a.gz").write_bytes(data)
    with (
        pytest.raises(TokverifyError, match=r"a\.gz: not a gzip file, or damaged"),
        open_corpus([tmp_path / "a.gz"]),
    ):
        pass


def test_stdin_is_read_once_and_kept(monkeypatch: pytest.MonkeyPatch, folder: Path):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"from stdin\n")))
    with open_corpus([folder / "b.cpp", STDIN]) as opened:
        assert ["".join(read_blocks(opened.files)) for _ in "12"] == ["b\nfrom stdin\n"] * 2
    assert not opened.files[1].exists()


def test_stdin_cannot_be_named_twice(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"a")))
    with pytest.raises(TokverifyError, match="only once"), open_corpus([STDIN, STDIN]):
        pass


def test_files_are_prepared_in_their_order(folder: Path):
    (folder / "b.cpp").write_text("// Copyright\n\n  b;\n")
    with open_corpus([folder], [Preparation.INDENTATION, Preparation.LICENSES]) as opened:
        assert "".join(read_blocks(opened.files)) == "b;\na\n"
    assert (folder / "b.cpp").read_text().startswith("// Copyright")
