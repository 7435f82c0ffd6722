import gc
import importlib.util
import re
import struct
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from support.gguf_maker import make_gguf, numbers, string, strings
from support.locations import configured, request
from support.paths import ROOT
from support.selection import thinned
from support.spec_maker import bpe_spec, spm_spec
from tokverify import load_cases, load_gguf
from tokverify.case import Case
from tokverify.commands.cli import main
from tokverify.compare.comparison import verify_tokenizers
from tokverify.errors import BrokenFileError, EncodeError, MissingLibraryError, TokverifyError, UnsupportedError
from tokverify.references import environment, llama_cpp, llama_cpp_library, llama_cpp_worker, open_reference
from tokverify.references.llama_cpp import LlamaCppTokenizer, load
from tokverify.references.llama_cpp_library import Library
from tokverify.report.run import Status, count_decode_differences, count_status, vocabularies_differ
from tokverify.sources.gguf.cursor import ValueType
from tokverify.sources.gguf.writer import write_gguf
from tokverify.spec import TokenType
from tokverify.texts.vocabulary import compare_vocabularies

SAMPLE = Path(llama_cpp.__file__).parents[1] / "sample" / "sample.gguf"
MODES = [(add, parse) for add in (False, True) for parse in (False, True)]


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    """A vocabulary without byte pieces: llama.cpp aborts on what it cannot spell."""
    path = tmp_path_factory.mktemp("llama") / "tiny.gguf"
    path.write_bytes(
        make_gguf(
            {
                "general.architecture": string("llama"),
                "tokenizer.ggml.model": string("llama"),
                "tokenizer.ggml.tokens": strings(["<unk>", "<s>", "</s>", "▁", "a", "b", "▁a"]),
                "tokenizer.ggml.scores": numbers(ValueType.FLOAT32, [0, 0, 0, -1, -2, -3, -0.5]),
                "tokenizer.ggml.token_type": numbers(ValueType.INT32, [2, 3, 3, 1, 1, 1, 1]),
            }
        )
    )
    return path


@pytest.fixture
def tiny(model, library) -> LlamaCppTokenizer:
    return LlamaCppTokenizer(model, library)


def encode(tokenizer, text, *, add_special=False, parse_special=True):
    return tokenizer.encode(text, add_special=add_special, parse_special=parse_special)


def encode_many(tokenizer, texts):
    results = tokenizer.encode_many(texts, add_special=False, parse_special=True)
    return [str(result) if isinstance(result, EncodeError) else result for result in results]


def test_the_known_ids_are_those_of_the_sample():
    ids = encode(load_gguf(SAMPLE), llama_cpp_worker.SAMPLE_TEXT)
    assert tuple(ids) == llama_cpp_worker.SAMPLE_IDS


@pytest.mark.parametrize("role", ["bos", "eos", "unk", "pad", "eot"])
@pytest.mark.parametrize("id", [262, 0xFFFFFFFF])
def test_a_special_id_out_of_range_is_ignored_as_in_llama_cpp(role, id, library, tmp_path):
    # As old converters wrote "no padding": -1.
    spec = spm_spec({"▁": -1, "a": -2, "<|eot_id|>": 0}, special_ids={role: id}, add_eos=True)
    write_gguf(tmp_path / "model.gguf", spec)
    actual, expected = load_gguf(tmp_path / "model.gguf"), LlamaCppTokenizer(tmp_path / "model.gguf", library)
    assert expected.special_ids.items() <= actual.special_ids.items()
    assert "pad" not in actual.special_ids
    for text in ("a", "é", "<|eot_id|>"):
        assert encode(actual, text, add_special=True) == encode(expected, text, add_special=True)


def test_encode_and_decode(tiny):
    assert encode(tiny, "a b") == [6, 3, 5]
    assert encode(tiny, "a b", add_special=True) == [1, 6, 3, 5]
    assert encode(tiny, "") == []
    assert encode(tiny, "a</s>") == [6, 2]
    assert tiny.decode([1, 6, 3, 5]) == b"<s> a b"
    assert tiny.decode([6, 3, 5]) == b"a b"
    assert tiny.decode([]) == b""


def test_the_vocabulary_matches_what_llama_cpp_loaded(tiny):
    assert tiny.vocab_size == 7
    assert tiny.special_ids == {"bos": 1, "eos": 2}
    assert tiny.flags == {"add_bos": True, "add_eos": False, "add_sep": False}
    assert tiny.attributes == [1, 8, 8, 4, 4, 4, 4]
    assert tiny.token_types() == [2, 3, 3, 1, 1, 1, 1]
    assert tiny.added_tokens().keys() == {0, 1, 2}
    assert tiny.eog_ids == {2}
    assert [(tiny.piece(id), tiny.token_bytes(id)) for id in (1, 6, 7, -1)] == [
        ("<s>", b"<s>"),
        ("▁a", b" a"),
        ("", b""),
        ("", b""),
    ]


def test_long_texts_outgrow_the_buffers(tiny):
    ids = encode(tiny, "ab" * 10_000)
    assert len(ids) == 20_000
    assert tiny.decode(ids) == b"ab" * 10_000
    assert encode(tiny, "a") == [6]


def test_nul_and_bytes_come_through(library):
    sample = LlamaCppTokenizer(SAMPLE, library)
    ids = encode(sample, "a\0b\N{LLAMA}")
    assert sample.decode(ids) == "a\0b\N{LLAMA}".encode()
    assert b"".join(map(sample.token_bytes, ids)) == "a\0b\N{LLAMA}".encode()


def test_an_abort_is_the_error_of_one_text(tiny):
    with pytest.raises(EncodeError, match=r"^llama\.cpp aborted: \S"):
        encode(tiny, "c")
    assert encode(tiny, "a") == [6]
    ids, aborted, others, surrogate, again, last = encode_many(tiny, ["a", "c", "b", "\ud800", "c", "ab"])
    assert (ids, others, last) == ([6], [3, 5], [6, 5])
    assert aborted == again
    assert aborted.startswith("llama.cpp aborted: ")
    assert surrogate == "the text has a lone surrogate (U+D800) at character 0; UTF-8 cannot carry it"


def test_ids_it_lacks_never_reach_llama_cpp(tiny):
    for id in (-1, 7, 2**40):
        with pytest.raises(EncodeError, match=rf"^llama\.cpp has no token with the id {id}$"):
            tiny.decode([6, id])
    results = tiny.decode_many([[6], [7], [], [5]])
    assert [result for result in results if isinstance(result, bytes)] == [b"a", b"", b"b"]
    assert isinstance(results[1], EncodeError)


def test_a_hang_ends_after_the_given_time(model, library):
    tokenizer = LlamaCppTokenizer(model, library, seconds=0.25)
    # A text that takes seconds; no input is known that takes forever.
    slow, after = encode_many(tokenizer, ["ab" * 8_000_000, "a"])
    assert slow == "llama.cpp did not respond within 0.25 s"
    assert after == [6]


def test_a_child_that_was_killed_is_started_again(tiny):
    first = tiny._program._process._process
    first.kill()
    first.wait()
    assert encode(tiny, "a") == [6]
    assert tiny._program._process._process.pid != first.pid


def test_an_interrupted_request_leaves_no_answers_behind(tiny, monkeypatch):
    def interrupt(process, deadline):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(type(tiny._program._process), "_read_line", interrupt)
        with pytest.raises(KeyboardInterrupt):
            encode(tiny, "b")
    assert encode(tiny, "a") == [6]


def test_the_child_ends_with_its_tokenizer(model, library):
    tokenizer = LlamaCppTokenizer(model, library)
    process = tokenizer._program._process._process
    del tokenizer
    gc.collect()
    assert process.returncode == 0


@pytest.mark.skipif(not Path("/proc/self/exe").exists(), reason="no /proc to see processes in")
def test_the_child_ends_with_its_parent(model, library):
    code = (
        "import sys\n"
        "from tokverify import load_reference\n"
        "tokenizer = load_reference(f'llama.cpp:{sys.argv[1]}')\n"
        "print(tokenizer._program._process._process.pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", code, str(model)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        child = Path("/proc", parent.stdout.readline().decode().strip(), "exe")
        assert child.exists()
        parent.kill()
    deadline = time.monotonic() + 20
    while child.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not child.exists()


def test_the_model_under_test_is_loaded_unless_another_is_named(model, library):
    found = open_reference("llama.cpp", model=model)
    assert (found.source, found.versions) == (str(model), {"xllamacpp": library.version})
    assert "not that the data" in found.caveat
    other = open_reference(f"llama.cpp:{SAMPLE}", model=model)
    assert (other.tokenizer.vocab_size, other.caveat) == (2000, "")
    assert open_reference(f"llama.cpp:{model}", model=model).caveat == found.caveat


def test_two_builds_differ_for_a_reason_that_is_told(tmp_path, library):
    # The model's side imitates a build in which `</s>` was an ordinary token.
    path = tmp_path / "model.gguf"
    write_gguf(path, bpe_spec(["a b"], {"</s>": TokenType.NORMAL.value}))
    command = ["run", str(path), "-r", "llama.cpp", "--suite", "markers"]
    old = CliRunner().invoke(main, [*command, "--llama-cpp", "b7827"])
    assert old.exit_code == 1, old.output
    words = " ".join(old.stdout.split())
    assert f"b7827 can give other ids than b{library.build}, because </s> was an ordinary token before b8121" in words
    assert "another build is no fault of the file" in words
    assert CliRunner().invoke(main, command).exit_code == 0


def test_no_repair_of_a_file_is_offered_against_a_build_that_reads_it_otherwise(tmp_path, library, monkeypatch):
    path = tmp_path / "model.gguf"
    write_gguf(path, bpe_spec(["a b"], {"</s>": TokenType.NORMAL.value}))
    monkeypatch.setattr("tokverify.commands.tasks.run.describe_changes_between", lambda *_: "")
    command = ["run", str(path), "-r", "llama.cpp", "--suite", "markers", "--llama-cpp", "b7827"]
    words = " ".join(CliRunner().invoke(main, command).stdout.split())
    assert "reads the same file in its own way, which is no fault of the file" in words
    assert "repair:" not in words


def test_a_missing_model_is_reported(tmp_path):
    with pytest.raises(TokverifyError, match=r"gone\.gguf: no such file"):
        load(request("gone.gguf"))
    with pytest.raises(TokverifyError, match=r"name one, as in `llama\.cpp:model\.gguf`"):
        load(request(""))


def test_a_file_that_llama_cpp_refuses_says_why(tmp_path, library):
    path = tmp_path / "bad.gguf"
    path.write_bytes(b"hello" * 10)
    with pytest.raises(BrokenFileError, match=r"bad\.gguf: llama\.cpp cannot load it \(.*magic.*\)$"):
        load(request(str(path)))


def params(at: int, flags: bytes) -> bytes:
    """Return a default `llama_model_params` whose flags are at an offset, and what may lie behind it."""
    numbers = struct.pack("<QQiiiI", 0, 0, -1, 1, 0, 0x5555)
    return numbers.ljust(at, b"\0") + flags.ljust(8, b"\0") + b"\x02"


@pytest.mark.parametrize("at", [56, 64, 72, 80])
@pytest.mark.parametrize("flags", [b"\0\1\0\0", b"\0\0\1\0\0\0"])
def test_the_flags_are_found_in_every_layout(at, flags):
    assert llama_cpp_worker._find_flags(params(at, flags)) == at


@pytest.mark.parametrize("flags", [b"\1\0\0\0", b"\0\x07\0\0", b""])
def test_an_unknown_layout_is_refused(flags):
    with pytest.raises(llama_cpp_worker.WorkerError, match="unknown layout"):
        llama_cpp_worker._find_flags(params(64, flags) if flags else bytes(128))


def test_another_library_is_detected(model, library, tmp_path):
    for path in (tmp_path / "gone.so", Path(model)):
        with pytest.raises(UnsupportedError, match=r"cannot be used: it fails on a known vocabulary \(.+\)"):
            LlamaCppTokenizer(model, Library(path, library.version))


def test_a_missing_library_says_how_to_install_it(model, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    with pytest.raises(MissingLibraryError, match=f"pip install '{re.escape(extras['llama-cpp'][0])}'"):
        load(request("", model=model))


@pytest.mark.parametrize("name", thinned(2, ["llama-spm", "gemma-3", "gpt-2", "gemma-4", "qwen2", "mpt"]))
def test_the_encoder_is_llama_cpp(vocabs, library, name):
    encoder, real = load_gguf(vocabs / f"{name}.gguf"), LlamaCppTokenizer(vocabs / f"{name}.gguf", library)
    _assert_equal_settings(encoder, real)
    texts = [case.text for case in load_cases()]
    for add_special, parse_special in MODES:
        ids = [encoder.encode(text, add_special=add_special, parse_special=parse_special) for text in texts]
        theirs = real.encode_many(texts, add_special=add_special, parse_special=parse_special)
        assert [text for text, ours, other in zip(texts, ids, theirs, strict=True) if ours != other] == []
        decoded = [encoder.decode(one, clean_up=True) for one in ids]
        differing = zip(texts, decoded, real.decode_many(ids), strict=True)
        assert [text for text, ours, other in differing if ours != other] == []


def _assert_equal_settings(encoder, real):
    settings, ids = encoder.settings, range(real.vocab_size)
    assert not vocabularies_differ(compare_vocabularies(encoder, real))
    assert [encoder.token_bytes(id) for id in ids] == [real.token_bytes(id) for id in ids]
    # Above the attributes that a file declares, llama.cpp keeps those for stripping.
    assert list(settings.attributes) == [attribute & 63 for attribute in real.attributes]
    assert settings.eog_ids == real.eog_ids
    assert {name: getattr(settings, name) for name in real.flags} == real.flags


def test_decoding_is_compared_as_llama_detokenize_does_it(library, vocabs):
    model = vocabs / "gpt-2.gguf"
    case = Case(id="spaces", suite="ours", text="a . b , c ' s")
    report = verify_tokenizers(load_gguf(model), LlamaCppTokenizer(model, library), [case])
    assert (count_status(report, Status.MATCH), count_decode_differences(report)) == (1, 0)


@pytest.mark.parametrize(("remove_special", "unparse_special"), MODES)
def test_decoding_with_each_flag_is_that_of_llama_cpp(library, vocabs, remove_special, unparse_special):
    flags = {"remove_special": remove_special, "unparse_special": unparse_special}
    encoder, real = load_gguf(vocabs / "llama-spm.gguf"), LlamaCppTokenizer(vocabs / "llama-spm.gguf", library)
    ids = [encode(encoder, text, add_special=True) for text in ("a b", " a", "", "<s>a</s>", "<unk> a .")]
    ids += [[*each, 2, 2] for each in ids]
    assert [encoder.decode_as_llama_cpp(each, **flags) for each in ids] == real.decode_many(ids, **flags)


def test_a_model_of_another_format_is_converted_to_gguf_first(library):
    folder = SAMPLE.parent
    with_model = load(request("", model=folder / "sample.tokenizer.model"))
    named = load(request(str(folder / "sample.tokenizer.model"), model=SAMPLE))
    assert with_model.source == named.source == f"{folder / 'sample.tokenizer.model'}, converted to GGUF"
    gguf = load(request("", model=SAMPLE)).tokenizer
    for text in ("a    b", "word\n\tword", "<bos>x"):
        ids = encode(gguf, text, add_special=True)
        assert encode(with_model.tokenizer, text, add_special=True) == encode(named.tokenizer, text, add_special=True)
        assert encode(named.tokenizer, text, add_special=True) == ids


def test_its_file_is_there_for_a_new_child_and_gone_in_the_end(library):
    tokenizer = load(request("", model=SAMPLE.parent / "sample.tokenizer.model")).tokenizer
    path = tokenizer._model
    tokenizer.close()
    assert encode(tokenizer, "a")
    assert path.is_file()
    del tokenizer
    gc.collect()
    assert not path.parent.exists()


def test_a_build_and_a_file_are_split(tmp_path):
    path = tmp_path / "lib:llama.so"
    path.touch()
    assert llama_cpp.split_build("") == ("", "")
    assert llama_cpp.split_build("other.gguf") == ("", "other.gguf")
    assert llama_cpp.split_build("@b9014") == ("b9014", "")
    assert llama_cpp.split_build("@b9014:other.gguf") == ("b9014", "other.gguf")
    assert llama_cpp.split_build(f"@{path}") == (str(path), "")
    assert llama_cpp.split_build(f"@{path}:hf:org/name") == (str(path), "hf:org/name")


def test_a_library_is_named_by_its_path(model, library):
    found = open_reference(f"llama.cpp@{library.path}", model=model)
    assert encode(found.tokenizer, "a b") == [6, 3, 5]
    assert found.versions == {"llama.cpp": str(library.path)}
    assert found.source == f"{library.path}, {model}"


def test_only_the_user_names_a_build_or_a_library(model, library):
    for name in ("b9014", str(library.path)):
        with pytest.raises(TokverifyError, match="may not name a build or a library"):
            open_reference(configured(f"llama.cpp@{name}"), model=model)


@pytest.mark.skipif(sys.platform != "linux", reason="wheels are known for Linux only")
def test_a_build_without_a_wheel_names_the_nearest(model):
    with pytest.raises(TokverifyError, match="no wheel of this build is known; the nearest are b8943 and b9014"):
        open_reference("llama.cpp@b9000", model=model)
    with pytest.raises(TokverifyError, match=r"^llama\.cpp b9452: no wheel of this build is known"):
        open_reference("llama.cpp@ollama-0.30.0", model=model)
    with pytest.raises(TokverifyError, match="no such file, and not a build"):
        open_reference("llama.cpp@latest", model=model)


def test_a_build_is_installed_with_its_digest(monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(environment, "prepare", lambda packages: asked.append(packages) or tmp_path / "bin" / "python")
    with pytest.raises(UnsupportedError, match=r"^llama\.cpp b11549 cannot be used: the wheel contains no library$"):
        llama_cpp_library.find_build("b11549")
    [[package]] = asked
    assert re.fullmatch(r"xllamacpp==2026\.10\.11549 --hash=sha256:[0-9a-f]{64}", package)


def test_a_newer_c_library_is_named():
    library = Library(Path("libllama.so"), "b9014", "llama.cpp")
    reason = "/lib/libm.so.6: version `GLIBC_2.38' not found (required by libllama.so)"
    assert str(library.unsupported(reason)).startswith("llama.cpp b9014 needs glibc 2.38, this system has ")
