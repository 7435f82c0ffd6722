"""Preparation of source files: indentation, license headers and diffs."""

from pathlib import Path

import pytest

from tokverify.train.preparation import Preparation, drop_license, frame_commits, prepare


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
