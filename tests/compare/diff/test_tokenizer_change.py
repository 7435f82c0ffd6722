"""`tokverify diff`: which parts differ, what that does to texts, and where versions come from."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from tokenizers.normalizers import NFC
from tokenizers.pre_tokenizers import ByteLevel

from support.byte_level_maker import train_byte_level
from support.paths import ROOT, SAMPLE
from support.selection import thinned
from support.spec_file import write_spec
from support.spec_maker import CONTROL, bpe_spec, spm_spec
from tokverify.commands.cli import main
from tokverify.commands.tasks.diff import open_version
from tokverify.compare.diff.compare import compare_versions, measure
from tokverify.compare.diff.parts import compare_parts as compare_parts_of
from tokverify.compare.diff.version import Version
from tokverify.compare.diff.witness import texts_about
from tokverify.compare.side import side_of
from tokverify.engine.encoder import Encoder
from tokverify.report.diff import Effect, Level, Outcome, PartChange
from tokverify.sources.load import load_gguf
from tokverify.texts.vocabulary import compare_vocabularies

SMALL_PROGRAM = ROOT / "tests" / "support" / "small_program.py"
GOOD, BROKEN, MODEL = (SAMPLE / name for name in ("sample.gguf", "sample-broken.gguf", "sample.tokenizer.model"))
OLD = bpe_spec(
    ["a b", "c d", "ab cd"], {"<x>": CONTROL}, chat_template="{{ a }}", add_bos=False, special_ids={"bos": 0}
)


def compare_parts(old: Version, new: Version):
    return compare_parts_of(old, new, compare_vocabularies(new.tokenizer, old.tokenizer))


def version(spec) -> Version:
    encoder = Encoder(spec, "made")
    return Version(encoder, side_of(encoder), spec)


def changes(new, old=OLD) -> dict[str, list[PartChange]]:
    parts, _ = compare_parts(version(old), version(new))
    return {part.name: list(part.changes) for part in parts}


def test_equal_versions_have_no_changes():
    assert changes(OLD) == {}


def test_tokens_are_added_removed_and_moved():
    new = bpe_spec(
        ["a b", "e f", "c d"], {"<x>": CONTROL}, chat_template="{{ a }}", add_bos=False, special_ids={"bos": 0}
    )
    assert changes(new) == {
        "tokens": [
            PartChange("moved", "cd", "id 257", "id 258"),
            PartChange("removed", "abcd", "id 258", None),
            PartChange("added", "ef", None, "id 257"),
        ],
        "merges": [PartChange("removed", "ab cd", "rank 2", None), PartChange("added", "e f", None, "rank 1")],
    }


def test_a_control_token_with_another_name_is_reported():
    old, new = (bpe_spec([], {name: CONTROL, "<e>": CONTROL}) for name in ("<x>", "<y>"))
    assert changes(new, old)["tokens"] == [
        PartChange("removed", "<x>", "id 256", None),
        PartChange("added", "<y>", None, "id 256"),
    ]


class Bytewise(Encoder):
    """A tokenizer that reports the text of each token instead of its piece, as a server does."""

    def piece(self, id: int) -> str:
        return self.token_bytes(id).decode(errors="replace")


@pytest.mark.parametrize("flip", [False, True])
def test_pieces_that_a_server_writes_differently_are_not_changes(flip):
    encoder, server = load_gguf(GOOD), Bytewise(load_gguf(GOOD).spec, "server")
    versions = [Version(encoder, side_of(encoder), encoder.spec), Version(server, side_of(server), None, "a server")]
    parts, not_compared = compare_parts(*(versions[::-1] if flip else versions))
    assert parts == ()
    assert len(not_compared) == 1


def test_merges_in_another_order():
    new = bpe_spec(["c d", "a b", "ab cd"], {"<x>": CONTROL}, tokens=["ab", "cd", "abcd"])
    found = changes(new, bpe_spec(["a b", "c d", "ab cd"], {"<x>": CONTROL}))
    assert found["merges"] == [PartChange("reordered", "c d", "after a b", "before a b")]


def test_settings_added_tokens_and_templates():
    new = bpe_spec(["a b", "c d", "ab cd"], {"<x>": 1}, chat_template="{{ b }}", add_bos=True, special_ids={"bos": 0})
    found = changes(new)
    assert PartChange("changed", "add_bos", "False", "True") in found["settings"]
    assert found["added tokens"] == [PartChange("removed", "<x>", "control", None)]
    assert found["types"] == [PartChange("changed", "<x>", "CONTROL", "NORMAL")]
    [template] = found["chat templates"]
    assert re.fullmatch(r'7 characters, sha256 [0-9a-f]{16}; line 1: "{{ a }}"', template.old)
    assert re.fullmatch(r'7 characters, sha256 [0-9a-f]{16}; line 1: "{{ b }}"', template.new)


def test_a_changed_special_id_is_reported_separately():
    old, new = (bpe_spec([], {"<x>": CONTROL}, special_ids={"eos": id}) for id in (1, 2))
    assert changes(new, old)["settings"][0] == PartChange("changed", "special_ids.eos", "1", "2")


def test_scores():
    old, new = spm_spec({"a": -1.0, "b": -2.0}), spm_spec({"a": -1.0, "b": -2.5})
    assert changes(new, old) == {"scores": [PartChange("changed", "b", "-2", "-2.5")]}


def test_scores_that_one_side_lacks_altogether_are_one_change():
    new = replace(spm_spec({"a": -1.0, "b": -2.0}), scores=None)
    tokens = len(new.tokens)
    assert changes(new, replace(new, scores=(0.5,) * tokens))["scores"] == [
        PartChange("changed", "all", f"of {tokens} tokens", None)
    ]


def test_two_models_have_no_scores_in_common():
    parts, not_compared = compare_parts(version(OLD), version(spm_spec({"a": -1.0})))
    assert {part.name for part in parts} == {"tokens", "settings", "added tokens", "chat templates"}
    assert not_compared == ("types, scores, merges: one tokenizer is gpt2, the other llama",)


def test_the_parts_are_compared_once(monkeypatch):
    monkeypatch.setattr("tokverify.compare.comparison.compare_beyond_texts", None)
    found = compare_versions(version(OLD), version(replace(OLD, merges=OLD.merges[::-1])), [])
    assert [part.name for part in found.parts] == ["merges"]


def test_of_many_tokens_that_moved_only_some_are_tried_in_texts():
    tokens = [f"{number}." for number in range(1_200)]
    old, new = (version(bpe_spec([], tokens=tokens[place:] + tokens[:place])) for place in (0, 1))
    parts, _ = compare_parts(old, new)
    assert len(parts[0].changes) == len(tokens)
    texts = "\n".join(texts_about(parts, old, new))
    assert 400 <= sum(f"a{token}a" in texts for token in tokens) <= 500


def test_the_effect_on_a_corpus_is_counted_by_lines_and_bytes():
    old, new = Encoder(bpe_spec(["a b"])), Encoder(bpe_spec([]))
    assert measure(old, new, ["abab", "xéy", "ab"]) == Effect(3, 2, 10, 6, 2 + 4 + 1, 4 + 4 + 2)


def test_lines_that_a_program_does_not_support_are_skipped_in_a_corpus(tmp_path):
    one, other = (f"command:{shlex.join([sys.executable, str(SMALL_PROGRAM), *more])}" for more in ([], ["hello={}"]))
    lines = tmp_path / "lines.txt"
    lines.write_text("abc\na!b\nc\n")
    done = run(one, other, "--suite", "seed", "--lines", str(lines))
    assert done.exit_code == 0
    shown = " ".join(done.stdout.split())
    assert "0% of 2 lines" in shown
    assert "4 tokens before, 4 after (+0.00%); 1 line skipped, which one of the two does not support" in shown
    lines.write_text("!\n")
    done = run(one, other, "--suite", "seed", "--lines", str(lines))
    assert done.exit_code == 2
    assert "no line of the corpus was compared: 1 line skipped" in done.stdout


def test_the_one_fault_of_the_sample_is_one_cause():
    text = run(GOOD, BROKEN).stdout
    assert text.count("MISMATCH ") == 1
    words = " ".join(text.split())
    assert "83 CASES CHANGED, 1 CAUSE" in words
    assert "cause of everything that ids depend on, only the types and added tokens changed" in words
    assert "also the same change in 82 more cases: " in words
    assert "changed, 1 cause\n" in run(GOOD, BROKEN, "-f", "markdown").stdout


def run(*arguments: object):
    return CliRunner().invoke(main, ["diff", *map(str, arguments)])


TABLE = [
    ([GOOD, f"gguf:{GOOD}", "-k", "seed/*"], 0, "no part differs"),
    ([GOOD, MODEL, "-k", "seed/*", "--behavior-only"], 0, "scores: 34 changed"),
    ([GOOD, MODEL, "-k", "seed/*"], 1, "16 cases: 16 match"),
    ([GOOD, BROKEN, "-k", "seed/*", "-q"], 1, "types: 30 changed"),
    ([GOOD, BROKEN, "-k", "t*"], 1, "the same change in"),
    ([GOOD, BROKEN, "-k", "s*"], 1, "cause  "),
    ([GOOD, BROKEN, "-k", "seed/*", "-v"], 1, "MISMATCH seed/extra-spaces"),
    ([GOOD, BROKEN, "-k", "seed/*", "--fuzz", "1s"], 1, "fuzzed  "),
    ([GOOD, BROKEN, "-k", "seed/*", "-f", "json"], 1, '"kind": "diff"'),
    ([GOOD, BROKEN, "-k", "seed/*", "-f", "markdown"], 1, "## ❌"),
    ([GOOD, BROKEN, "-k", "seed/*", "-q", "--fuzz", "1s"], 1, "generated"),
    ([GOOD, BROKEN, "-k", "seed/*", "-q", "--lines", __file__], 1, "of the corpus change"),
]


@pytest.mark.parametrize(("arguments", "exit_code", "said"), thinned(2, TABLE))
def test_table(arguments, exit_code, said):
    result = run(*arguments)
    assert result.exit_code == exit_code, result.output
    assert said in result.stdout


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([GOOD, "absent.gguf"], "no such file; check the path"),
        ([GOOD], "Missing argument 'B'"),
        ([GOOD, GOOD, "--fuzz", "soon"], "is not a duration"),
        ([GOOD, GOOD, "-k", "nothing*"], "no case"),
        ([GOOD, "rebuilt"], "GGUF"),
    ],
)
def test_bad_input_gives_one_line(arguments, complaint):
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert complaint in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.slow
def test_a_special_token_that_only_the_gguf_file_names_is_not_compared(tmp_path):
    path = tmp_path / "made.tokenizer.json"
    assert CliRunner().invoke(main, ["convert", str(GOOD), "-o", str(path), "--texts", "0"]).exit_code == 0
    report = json.loads(run(GOOD, str(path), "-k", "seed/*", "-f", "json").stdout)
    assert "settings" not in [part["name"] for part in report["parts"]]
    assert report["not_compared"] == ["eos, pad and what ends a generation: only one of the two names them"]
    (special,) = (each for each in report["consequences"] if each["level"] == "special")
    advice = "a tokenizer_config.json next to the tokenizer.json would, too"
    assert (special["outcome"], special["reason"]) == ("unknown", f"only the GGUF file names eos, pad; {advice}")


def test_a_tokenizer_json_that_truncates_is_no_match_for_a_gguf_file(tmp_path):
    path = tmp_path / "made.tokenizer.json"
    assert CliRunner().invoke(main, ["convert", str(GOOD), "-o", str(path), "--texts", "0"]).exit_code == 0
    limit = {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0}
    path.write_text(json.dumps(json.loads(path.read_text()) | {"truncation": limit}))
    result = run(GOOD, str(path), "-k", "seed/*", "--breaking", "ids", "-f", "json")
    (ids,) = (each for each in json.loads(result.stdout)["consequences"] if each["level"] == "ids")
    assert (result.exit_code, ids["outcome"]) == (2, "unknown")
    assert ids["reason"].startswith("truncation differs, which a comparison turns off")


@pytest.fixture
def repository(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, value in (("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_SYSTEM", "/dev/null")):
        monkeypatch.setenv(name, value)
    git("init", "-q")
    (tmp_path / "models").mkdir()
    for source in (GOOD, BROKEN):
        shutil.copy(source, tmp_path / "models" / "model.gguf")
        git("add", ".")
        git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a model")
    return tmp_path


def git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], check=True, capture_output=True)  # noqa: S607 - the git on the path


def test_a_file_of_a_git_revision_is_read(repository):
    result = run("HEAD~1:models/model.gguf", "models/model.gguf", "-k", "seed/*", "-f", "json")
    assert result.exit_code == 1, result.output
    document = json.loads(result.stdout)
    assert (document["summary"]["old"], document["summary"]["new"]) == ("HEAD~1:models/model.gguf", "models/model.gguf")
    assert [part["name"] for part in document["parts"]] == ["types", "added tokens"]
    assert run("HEAD:models/model.gguf", "models/model.gguf", "-k", "seed/*").exit_code == 0


def test_the_configuration_next_to_a_file_is_read_from_git_too(repository):
    (repository / "x.tokenizer.json").write_bytes((SAMPLE / "sample.tokenizer.model").read_bytes())
    shutil.copy(MODEL, repository / "x.tokenizer.model")
    (repository / "x.tokenizer_config.json").write_text(json.dumps({"chat_template": "{{ old }}"}))
    git("add", ".")
    git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a template")
    (repository / "x.tokenizer_config.json").write_text(json.dumps({"chat_template": "{{ newer }}"}))
    document = json.loads(run("HEAD:x.tokenizer.model", "x.tokenizer.model", "-k", "seed/*", "-f", "json").stdout)
    assert [part["name"] for part in document["parts"]] == ["chat templates"]


def test_a_path_with_a_colon_is_a_path(repository):
    shutil.copy(GOOD, repository / "HEAD:model.gguf")
    assert run("HEAD:model.gguf", GOOD, "-k", "seed/*").exit_code == 0


def test_a_name_may_start_with_a_tilde_without_naming_a_home_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(GOOD, "~no-such-user.gguf")
    assert run("./~no-such-user.gguf", GOOD, "-k", "seed/*").exit_code == 0
    failed = run("~no-such-user/model.gguf", GOOD)
    assert (failed.exit_code, failed.stderr.count("\n")) == (2, 1)


def test_links_of_a_revision_are_followed(repository):
    (repository / "link.gguf").symlink_to("models/model.gguf")
    (repository / "loop.gguf").symlink_to("loop.gguf")
    git("add", ".")
    git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "links")
    assert run("HEAD:link.gguf", BROKEN, "-k", "seed/*").exit_code == 0
    assert "loop.gguf: no such file at HEAD" in run("HEAD:loop.gguf", BROKEN).stderr


def test_filters_of_a_checkout_are_applied(repository):
    (repository / ".gitattributes").write_text("*.gguf filter=stored\n")
    git("config", "filter.stored.smudge", f"cat {GOOD}")
    assert run("HEAD:models/model.gguf", GOOD, "-k", "seed/*").exit_code == 0
    git("config", "filter.stored.required", "true")
    git("config", "filter.stored.smudge", "false")
    failed = run("HEAD:models/model.gguf", GOOD, "-k", "seed/*")
    assert failed.exit_code == 2
    assert "HEAD:models/model.gguf: git cannot write it: " in failed.stderr


def test_an_error_in_a_file_of_a_revision_names_the_revision(repository):
    (repository / "lfs.gguf").write_text("version https://git-lfs.github.com/spec/v1\n")
    git("add", ".")
    git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a pointer")
    assert run("HEAD:lfs.gguf", GOOD).stderr.startswith("error: HEAD:lfs.gguf: ")


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("HEAD:models", "a directory; name the tokenizer, such as HEAD:models/tokenizer.json"),
        ("HEAD:./", "a directory; name the tokenizer, such as HEAD:./tokenizer.json"),
        ("HEAD:models/tokenizer_config.json", "read with the one beside it; name the tokenizer, such as HEAD:models/"),
        ("HEAD:models/model.gguf\n", "a line break"),
        ("HEAD~9:models/model.gguf", "git finds no revision 'HEAD~9'"),
    ],
)
def test_something_in_git_that_is_not_a_file_is_an_error(repository, location, message):
    result = run(location, GOOD)
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("location", ["HEAD:absent.gguf", "nowhere:model.gguf", "--help:model.gguf"])
def test_something_missing_in_git_is_an_error_in_one_line(repository, location):
    result = run("--", location, GOOD)
    assert result.exit_code == 2, result.output
    assert location in result.stderr
    assert "Traceback" not in result.output


def test_hostile_tokens_are_escaped(tmp_path):
    hostile = "\x1b[31m[/INST]\u202e<script>|`"
    for name, added in (("old", {}), ("new", {hostile: 4})):
        write_spec(bpe_spec(["a b"], added), tmp_path / f"{name}.gguf")
    for format in ("table", "json", "markdown"):
        shown = run(tmp_path / "old.gguf", tmp_path / "new.gguf", "-k", "seed/*", "-f", format).stdout
        assert "INST" in shown
        assert not any(character in shown for character in ("\x1b", "\u202e"))


def bpe_json(path: Path, merges: list[object], tokens: list[dict[str, object]], **stages: object) -> Path:
    """Write a tokenizer.json that GGUF cannot express: its normalizer makes letters small."""
    vocab = {piece: id for id, piece in enumerate(["a", "b", "c", "ab", "bc"])}
    model = {"type": "BPE", "vocab": vocab, "merges": merges}
    content = {"version": "1.0", "added_tokens": tokens, "model": model, "normalizer": {"type": "Lowercase"}, **stages}
    path.write_text(json.dumps(content))
    return path


def test_two_files_that_gguf_cannot_express_are_compared_directly(tmp_path: Path):
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    token = {"id": 5, "content": "<x>", **flags}
    old = bpe_json(tmp_path / "old.json", ["a b", "b c"], [{**token, "special": True}])
    new = bpe_json(tmp_path / "new.json", [["b", "c"], ["a", "b"]], [{**token, "rstrip": True}])
    versions = [open_version(str(path), tmp_path) for path in (old, new)]
    parts, not_compared = compare_parts(*versions)
    assert {part.name: part.changes for part in parts} == {
        "merges": (PartChange("reordered", "b c", "after a b", "before a b"),),
        "added tokens": (PartChange("changed", "<x>", "special", "rstrip"),),
    }
    assert len(not_compared) == 2
    assert len(compare_parts(*(replace(version, unread="it hides them") for version in versions))[1]) == 1
    assert all(
        reason.startswith("only the two files, without what llama.cpp would derive from them: ")
        for reason in not_compared
    )

    result = run(old, new, "-q", "-k", "seed/*")
    assert result.exit_code == 1
    assert result.stdout.startswith("merges: 1 reordered; added tokens: 1 changed; some parts were not compared; 16")


def test_scores_of_two_files_that_gguf_cannot_express(tmp_path: Path):
    paths = []
    for name, score in (("old", -1.5), ("new", -2.5)):
        model = {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", score], ["b", -3.0]]}
        paths.append(tmp_path / f"{name}.json")
        paths[-1].write_text(json.dumps({"version": "1.0", "model": model, "normalizer": {"type": "Lowercase"}}))
    parts, _ = compare_parts(*(open_version(str(path), tmp_path) for path in paths))
    assert [(part.name, part.changes) for part in parts] == [("scores", (PartChange("changed", "a", "-1.5", "-2.5"),))]


def test_a_text_that_differs_only_because_of_a_limit_of_llama_cpp_differs(tmp_path: Path):
    tokenizer = train_byte_level(ByteLevel(add_prefix_space=False))
    tokenizer.normalizer = NFC()
    document, model = (str(tmp_path / name) for name in ("tokenizer.json", "model.gguf"))
    tokenizer.save(document)
    assert CliRunner().invoke(main, ["convert", document, "-o", model, "-q", "--texts", "0"]).exit_code == 0
    for pair in ([document, model], [model, document]):
        run = CliRunner().invoke(main, ["diff", *pair, "-k", "*nfd*", "--behavior-only", "-f", "json"])
        assert run.exit_code == 1, run.output
        summary = json.loads(run.stdout)["summary"]
        assert (run.exit_code, summary["behaves_alike"], summary["consequences"]["ids"]) == (1, False, "broken")


def test_a_piece_that_stands_for_no_bytes_is_the_same_token_whatever_each_side_decodes(tmp_path: Path):
    tokenizer = train_byte_level(ByteLevel(add_prefix_space=False))
    content = json.loads(tokenizer.to_str())
    content["model"]["vocab"]["\U000f0000"] = len(content["model"]["vocab"])
    document, model = tmp_path / "tokenizer.json", tmp_path / "model.gguf"
    document.write_text(json.dumps(content))
    assert CliRunner().invoke(main, ["convert", str(document), "-o", str(model), "-q", "--texts", "0"]).exit_code == 0
    old, new = (open_version(str(path), tmp_path) for path in (document, model))
    levels = {each.level: each.outcome for each in compare_versions(old, new, []).consequences}
    assert levels[Level.VOCABULARY] is Outcome.VALID
