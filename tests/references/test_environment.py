"""The reference `env`, which runs a library in any version."""

import sys
from pathlib import Path

import pytest
import tokenizers

from support.locations import configured
from support.paths import SAMPLE
from tokverify.compare.convert.json_writer import write_json
from tokverify.errors import TokverifyError
from tokverify.references import environment, open_reference
from tokverify.sources.load import load_gguf

TEXTS = ("Hello  world", "<bos>a<eos>", "1234\n")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_json(tmp_path / "tokenizer.json", load_gguf(SAMPLE / "sample.gguf").spec)
    return tmp_path / "tokenizer.json"


def encode(tokenizer, text, *, parse_special=True):
    return tokenizer.encode(text, add_special=True, parse_special=parse_special)


@pytest.mark.slow
@pytest.mark.parametrize("version", ["0.13.3", "0.21.0", "1.0.0rc3"])
def test_a_version_of_tokenizers_runs_in_an_environment_of_its_own(path, version):
    try:
        found = open_reference(f"env:tokenizers=={version}:{path}")
    except TokverifyError as error:
        pytest.skip(f"packages cannot be downloaded: {error}")
    here = open_reference(path).tokenizer
    assert found.versions["tokenizers"].replace("-rc.", "rc") == version
    assert found.source == f"{path}, with tokenizers=={version}"
    for text in TEXTS:
        for parse_special in (True, False) if found.tokenizer.parses_special else (True,):
            ids = encode(here, text, parse_special=parse_special)
            assert encode(found.tokenizer, text, parse_special=parse_special) == ids
    assert found.tokenizer.vocab_size == here.vocab_size
    assert [found.tokenizer.piece(id) for id in range(300)] == [here.piece(id) for id in range(300)]
    assert found.tokenizer.decode(encode(here, "Hello")) == here.decode(encode(here, "Hello"))
    before = set((environment.cache_directory() / "environments").iterdir())
    open_reference(f"env:tokenizers=={version}:{path}")
    assert set((environment.cache_directory() / "environments").iterdir()) == before


@pytest.mark.parametrize(
    "location",
    ["", "tokenizers==0.21.0", ":x.json", "--index-url=x:y", "a @ http://x:y", "./package:y", "a==1;b:y", "a==:y"],
)
def test_what_is_not_packages_and_a_location_is_rejected(location, monkeypatch):
    monkeypatch.setattr(environment, "prepare", lambda packages: pytest.fail(f"would install {packages}"))
    with pytest.raises(TokverifyError, match=r"not packages and a location, such as `env:tokenizers==0\.21\.0:"):
        open_reference(f"env:{location}")


def test_packages_are_separated_by_spaces_and_versions_by_commas(monkeypatch, path):
    asked = []
    monkeypatch.setattr(environment, "prepare", lambda packages: asked.append(packages) or Path(sys.executable))
    found = open_reference(f"env:tokenizers>=0.21,<1 extra[a,b]~=2.0:{path}")
    assert asked == [["tokenizers>=0.21,<1", "extra[a,b]~=2.0"]]
    assert encode(found.tokenizer, "a") == encode(open_reference(path).tokenizer, "a")


def test_a_configuration_may_not_install_packages(path):
    with pytest.raises(TokverifyError, match=r"stored plan may not install packages; name it with -r$"):
        open_reference(configured(f"env:tokenizers==0.21.0:{path}"))


def test_packages_that_cannot_be_installed_give_one_line_and_leave_nothing(monkeypatch, path):
    program = [sys.executable, "-c", "import sys; sys.exit('no such\\nversion')"]
    monkeypatch.setattr(environment, "_commands", lambda place, packages: [program])
    with pytest.raises(TokverifyError, match=r"^nothing==1: cannot be installed \(no such version\)$"):
        open_reference(f"env:nothing==1:{path}")
    assert list((environment.cache_directory() / "environments").iterdir()) == []


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (
            "ERROR: Could not find a version that satisfies the requirement tokenizers==9 (from versions: 0.0.2)\n"
            "ERROR: No matching distribution found for tokenizers==9\n",
            "No matching distribution found for tokenizers==9",
        ),
        (
            "  × No solution found when resolving dependencies:\n"
            "  ╰─▶ Because there is no version of tokenizers==9 and you require tokenizers==9, we can conclude\n"
            "      that your requirements are unsatisfiable.\n",
            "No solution found when resolving dependencies: Because there is no version of tokenizers==9 and you"
            " require tokenizers==9, we can conclude that your requirements are unsatisfiable",
        ),
        (f"ERROR: {'long ' * 60}reason.\n", f"{'long ' * 60}reason"),
        ("", "no reason given"),
    ],
)
def test_the_reason_of_pip_or_uv_is_one_line(output, reason):
    assert environment.find_reason(output) == reason


def test_the_log_of_a_build_is_cut_in_the_middle():
    log = "\n".join(f"compiling {number}" for number in range(1000))
    reason = environment.find_reason(f"  × Failed to build `x==1`\n{log}\n  error: no Rust compiler\n")
    assert reason.startswith("Failed to build `x==1` compiling 0 ")
    assert reason.endswith(" compiling 999 error: no Rust compiler")
    assert len(reason) < 1100


def test_a_file_that_the_library_cannot_load_is_reported(monkeypatch, tmp_path):
    monkeypatch.setattr(environment, "prepare", lambda packages: Path(sys.executable))
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(TokverifyError, match="tokenizers cannot load it") as caught:
        open_reference(f"env:tokenizers==0.21.0:{tmp_path / 'tokenizer.json'}")
    assert "\n" not in str(caught.value)


def test_an_added_token_of_several_spaces_represents_spaces(monkeypatch, tmp_path):
    monkeypatch.setattr(environment, "prepare", lambda packages: Path(sys.executable))
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE({"a": 0, "▁": 1, "▁▁": 2, "<▁>": 3}, []))
    tokenizer.normalizer = tokenizers.normalizers.Replace(" ", "▁")
    tokenizer.decoder = tokenizers.decoders.Sequence(
        [tokenizers.decoders.Replace("▁", " "), tokenizers.decoders.Fuse(), tokenizers.decoders.Strip(" ", 1, 0)]
    )
    tokenizer.add_tokens([tokenizers.AddedToken("▁▁", normalized=False)])
    tokenizer.add_special_tokens([tokenizers.AddedToken("<▁>", normalized=False)])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    here = open_reference(tmp_path / "tokenizer.json").tokenizer
    there = open_reference(f"env:tokenizers==0:{tmp_path / 'tokenizer.json'}").tokenizer
    assert there.token_bytes(2) == here.token_bytes(2) == b"  "
    assert there.token_bytes(3) == here.token_bytes(3) == "<▁>".encode()
