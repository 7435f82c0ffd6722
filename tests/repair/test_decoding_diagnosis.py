"""Diagnose ids that are equal and decode differently."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from tokenizers import Tokenizer as LibraryTokenizer
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

from support.paths import SAMPLE
from support.rule_maker import MERGES, bpe_json
from support.sentencepiece_maker import train_model
from support.spec_maker import BYTE, CONTROL, USER_DEFINED, bpe_spec, spm_spec
from tokverify import load_reference
from tokverify.case import Case
from tokverify.commands.cli import main
from tokverify.compare.comparison import verify_tokenizers
from tokverify.compare.opened import Opened
from tokverify.engine.encoder import Encoder
from tokverify.render.kinds import FORMATS
from tokverify.render.options import RenderOptions
from tokverify.repair.search import DiagnosisResult, diagnose
from tokverify.report.fix import FixCheck, FixReport, Verification, fix_exit_code
from tokverify.report.run import Status, count_decode_differences, count_status, run_exit_code
from tokverify.sources.gguf.declaration import read_spec
from tokverify.sources.gguf.patch import write_patched
from tokverify.sources.gguf.values import changed_values
from tokverify.sources.gguf.writer import write_gguf
from tokverify.sources.huggingface.conversion import read_spec as json_spec
from tokverify.sources.sentencepiece.reader import read_spec as sentencepiece_spec
from tokverify.spec import TokenizerSpec, TokenType
from tokverify.tokenizer import Tokenizer

NORMAL, UNUSED = TokenType.NORMAL.value, TokenType.UNUSED.value
SPM = spm_spec({"▁": -5, "a": -1, "b": -2, "▁a": -4, "<x>": 0}, {"<x>": CONTROL}, special_ids={"bos": 1})
BPE = bpe_spec(["a b"], {"<x>": CONTROL, "é": USER_DEFINED})


def found(wrong: TokenizerSpec, right: TokenizerSpec) -> DiagnosisResult | None:
    actual, expected = Encoder(wrong), Encoder(right, "right")
    texts = ("a", "ab", "a\nb", "日本", "<x>a", "é", " a")
    report = verify_tokenizers(
        actual, expected, [Case(id=text, suite="s", text=text, add_special=True) for text in texts]
    )
    assert count_status(report, Status.MATCH) == len(texts)
    return diagnose(wrong, Opened(expected), report.results, encoder=actual)


def typed(spec: TokenizerSpec, old: int, new: int) -> TokenizerSpec:
    return replace(spec, types=[new if type == old else type for type in spec.types])


def test_a_special_token_of_the_reference_does_not_become_an_ordinary_one_with_the_same_bytes():
    wrong = replace(SPM, types=[type if type == CONTROL else 0 for type in SPM.types])
    made = found(wrong, SPM).changes[0].transform(wrong)
    assert made.types[0] != NORMAL
    assert made.types[261] == NORMAL


@pytest.mark.parametrize(
    ("right", "wrong", "sentence", "count"),
    [
        (SPM, typed(SPM, BYTE, NORMAL), "setting the type of 256 tokens (ids 3-258, bytes) to BYTE", 3),
        (
            SPM,
            replace(SPM, types=[*SPM.types[:261], UNUSED, *SPM.types[262:]]),
            'setting the type of token 261 "b" to NORMAL',
            2,
        ),
        (
            SPM,
            replace(SPM, tokens=["<unk>", "<S>", *SPM.tokens[2:]]),
            'rewriting token 1 "<S>" to represent the same bytes as in the reference',
            7,
        ),
        (
            bpe_spec(["Ġ a"], {"<x>": CONTROL}),
            bpe_spec(["Ġ a"], {"<x>": CONTROL}, add_space_prefix=True),
            "turning add_space_prefix off",
            1,
        ),
    ],
)
def test_a_single_fault_is_diagnosed(right, wrong, sentence, count):
    result = found(wrong, right)
    best = result.diagnosis.explanations[0]
    assert result.diagnosis.decoding
    assert (best.sentence, best.explained, best.failing, best.unexplained) == (sentence, count, count, ())
    assert best.expressible
    changed, intact = Encoder(result.changes[0].transform(wrong)), Encoder(right)
    ids = range(len(right.tokens))
    assert [changed.token_bytes(id) for id in ids] == [intact.token_bytes(id) for id in ids]


def test_a_pre_tokenizer_that_cleans_up_spaces_is_replaced_by_one_that_does_not():
    """As trillion, which splits texts as GPT-2 does, beside a server that has loaded the right file."""

    class Served(Encoder):
        """Decodes as `llama_detokenize` does."""

        decodes_as_llama_cpp = True

        def decode(self, ids: Sequence[int], *, clean_up: bool = True) -> bytes:
            return super().decode(ids, clean_up=clean_up)

    wrong = replace(BPE, pre="trillion")
    actual, expected = Encoder(wrong), Served(replace(BPE, pre="gpt-2"), "right")
    report = verify_tokenizers(actual, expected, [Case(id="x", suite="s", text="a .")])
    assert count_decode_differences(report) == 1
    (change,) = diagnose(wrong, Opened(expected), report.results, encoder=actual).changes
    assert change.transform(wrong) == replace(wrong, pre="gpt-2")


def test_differing_ids_are_explained_before_decoding():
    right = typed(SPM, BYTE, NORMAL)
    wrong = replace(SPM, add_bos=False)
    actual, expected = Encoder(wrong), Encoder(right, "right")
    cases = [Case(id="x", suite="s", text="a\nb", add_special=True)]
    report = verify_tokenizers(actual, expected, cases)
    assert count_decode_differences(report) == 1
    diagnosis = diagnose(wrong, Opened(expected), report.results, encoder=actual).diagnosis
    assert not diagnosis.decoding
    assert diagnosis.explanations[0].sentence == "turning add_bos on"


def test_a_change_that_would_change_ids_is_not_reported():
    # Typed CONTROL, the token would be shown as in the reference, but be cut out of texts too.
    class Literal(Encoder):
        """Shows one token as the text that is stored."""

        can_be_native = False

        def token_bytes(self, id):
            return b"\xe2\x96\x81a" if self.piece(id) == "▁a" else super().token_bytes(id)

    actual, expected = Encoder(SPM), Literal(SPM, "other")
    report = verify_tokenizers(
        actual, expected, [Case(id="a", suite="s", text="a"), Case(id="b", suite="s", text="▁a")]
    )
    assert (run_exit_code(report), count_decode_differences(report)) == (0, 2)
    assert diagnose(SPM, Opened(expected), report.results, encoder=actual) is None


def test_an_unknown_token_is_never_renamed():
    class Marking(Encoder):
        """Shows the unknown token as sentencepiece does."""

        can_be_native = False

        def token_bytes(self, id):
            return " ⁇ ".encode() if id == 0 else super().token_bytes(id)

    spec = spm_spec({"▁": -5, "a": -1, "▁a": -4}, special_ids={"bos": 0})
    actual, expected = Encoder(spec), Marking(spec, "other")
    report = verify_tokenizers(actual, expected, [Case(id="a", suite="s", text="a", add_special=True)])
    assert count_decode_differences(report) == 1
    result = diagnose(spec, Opened(expected), report.results, encoder=actual)
    (found,) = result.diagnosis.explanations
    assert (found.sentence, found.explained) == ('decoding token 0 "<unk>" as " ⁇ "', 1)
    assert not found.expressible
    assert result.changes[0].transform(spec) == spec


def explained(encoder: Encoder, expected: Tokenizer, *texts: str) -> str:
    """Return the sentence of the best explanation, which must explain all texts and not be expressible in GGUF."""
    report = verify_tokenizers(
        encoder, expected, [Case(id=text, suite="s", text=text, add_special=True) for text in texts]
    )
    assert (run_exit_code(report), count_decode_differences(report)) == (0, len(texts))
    best = diagnose(encoder.spec, Opened(expected), report.results, encoder=encoder).diagnosis.explanations[0]
    assert (best.explained, best.expressible) == (len(texts), False)
    return best.sentence


def test_sentencepiece_omits_control_tokens_and_marks_unknown_ones(tmp_path: Path):
    path = tmp_path / "tokenizer.model"
    path.write_bytes(train_model(vocab_size=60, model_type="unigram"))
    (tmp_path / "tokenizer_config.json").write_text('{"add_bos_token": true, "add_eos_token": false}')
    expected = load_reference(path)
    encoder = Encoder(replace(sentencepiece_spec(path), add_bos=True, add_eos=False))
    assert explained(encoder, expected, "fox", "the fox") == 'omitting token 1 "<s>" from decoded text'
    assert explained(encoder, expected, "fox", "日本", "a 日 fox 本").split(", and ") == [
        'omitting token 1 "<s>" from decoded text',
        'decoding token 0 "<unk>" as " ⁇ "',
    ]


def save_wordpiece(path: Path, cleanup: bool) -> None:
    vocab = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "##b", "c", ".", ",", "?", "!", "'"]
    library = LibraryTokenizer(models.WordPiece({text: id for id, text in enumerate(vocab)}, unk_token=vocab[1]))
    library.normalizer, library.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    library.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    library.decoder = decoders.WordPiece(cleanup=cleanup)
    library.add_special_tokens(vocab[:4])
    library.save(str(path))


def test_a_change_that_only_makes_texts_more_alike_is_no_repair_if_one_text_has_another_cause(tmp_path: Path):
    path = tmp_path / "tokenizer.json"
    save_wordpiece(path, True)
    spec = json_spec(path)

    class Joining(Encoder):
        """Decodes as HuggingFace's decoder does, except for one text."""

        def decode(self, ids, *, clean_up=False):
            decoded = library.decode(ids)
            return b"?" if decoded.startswith(b"c") else decoded

    library = load_reference(path)
    cases = [Case(id=text, suite="s", text=text) for text in ("ab c", "ab a", "a c", "a ab", "a.", "c a")]
    encoder, expected = Encoder(spec), Joining(spec, "other")
    report = verify_tokenizers(encoder, expected, cases)
    explanations = diagnose(spec, Opened(expected), report.results, encoder=encoder).diagnosis.explanations
    assert (explanations[0].unexplained, {each.expressible for each in explanations}) == (("s/c a",), {False})


@pytest.mark.parametrize(("cleanup", "exception"), [(True, ", none before . , ? !"), (False, "")])
def test_the_wordpiece_decoder_joins_words_differently(tmp_path: Path, cleanup, exception):
    path = tmp_path / "tokenizer.json"
    save_wordpiece(path, cleanup)
    encoder = Encoder(json_spec(path))
    sentence = explained(encoder, load_reference(path), "ab c", "ab, c.", "a ! ? ab", "c'a", "日 ab")
    assert sentence == (
        f"joining words as HuggingFace's decoder does (no space before the first, one before special tokens{exception})"
    )


def test_unexplained_decoding_is_not_diagnosed():
    class Shouting(Encoder):
        """Decodes as no change to a vocabulary could make it."""

        def decode(self, ids, *, clean_up=False):
            return super().decode(ids).upper()

    actual, expected = Encoder(SPM), Shouting(SPM, "other")
    report = verify_tokenizers(actual, expected, [Case(id="a", suite="s", text="ab")])
    assert count_decode_differences(report) == 1
    assert diagnose(SPM, Opened(expected), report.results, encoder=actual) is None


def test_equal_decoding_needs_no_diagnosis():
    assert found(BPE, BPE) is None


@pytest.fixture
def mistyped(tmp_path: Path) -> Path:
    """The sample with its byte tokens set to NORMAL, which changes no ids."""
    path = tmp_path / "model.gguf"
    spec = read_spec(SAMPLE / "sample.gguf")
    write_patched(SAMPLE / "sample.gguf", path, changed_values(spec, typed(spec, BYTE, NORMAL)))
    return path


def invoke(command: str, model: Path, *arguments: str) -> tuple[int, str]:
    reference = str(SAMPLE / "sample.tokenizer.model")
    result = CliRunner().invoke(main, [command, str(model), "-r", reference, *arguments])
    return result.exit_code, " ".join(result.output.split())


@pytest.mark.process  # takes seconds
def test_run_fails_and_reports_the_diagnosis(mistyped: Path):
    code, output = invoke("run", mistyped)
    assert code == 1
    assert (
        "setting the type of 256 tokens (ids 34-289, bytes) to BYTE makes 223 of 223 differing decodings match"
        in output
    )
    assert "repair: tokverify fix" in output
    assert "DIAGNOSIS" not in invoke("run", mistyped, "--no-diagnose")[1]


@pytest.mark.process  # takes seconds
def test_fix_repairs_the_decoding(mistyped: Path, tmp_path: Path):
    code, output = invoke("fix", mistyped, "--dry-run")
    assert code == 1
    assert " cases match; 223 decode differently" in output
    code, output = invoke("fix", mistyped, "-o", str(tmp_path / "fixed.gguf"))
    assert code == 0, output
    assert " cases match" in output
    assert (tmp_path / "fixed.gguf").read_bytes() == (SAMPLE / "sample.gguf").read_bytes()


@pytest.mark.process  # takes seconds
def test_fix_repairs_a_flag_that_only_decoding_shows_and_no_tokenizer_json_declares(tmp_path: Path):
    """llama.cpp drops the first space of a decoded text, whatever the model."""
    model, fixed, reference = (tmp_path / name for name in ("model.gguf", "fixed.gguf", "tokenizer.json"))
    spec = bpe_spec(MERGES)
    write_gguf(model, replace(spec, add_space_prefix=True))
    reference.write_text(json.dumps(bpe_json(spec)))
    code, output = invoke("fix", model, "-r", str(reference), "--dry-run")
    assert code == 1, output
    assert "cause turning add_space_prefix off" in output
    code, output = invoke("fix", model, "-r", str(reference), "-o", str(fixed))
    assert code == 0, output
    assert read_spec(fixed).add_space_prefix is False


@pytest.mark.process  # takes seconds
@pytest.mark.slow
def test_fix_repairs_ids_and_decoding_together(tmp_path: Path):
    path, fixed = tmp_path / "model.gguf", tmp_path / "fixed.gguf"
    spec = read_spec(SAMPLE / "sample.gguf")
    wrong = replace(typed(spec, BYTE, NORMAL), add_space_prefix=True)
    write_patched(SAMPLE / "sample.gguf", path, changed_values(spec, wrong))
    code, output = invoke("fix", path, "-o", str(fixed))
    assert code == 0, output
    assert (
        "repair turning add_space_prefix off, and setting the type of 256 tokens (ids 34-289, bytes) to BYTE"
        in " ".join(output.split())
    )
    assert fixed.read_bytes() == (SAMPLE / "sample.gguf").read_bytes()


def test_a_file_that_differs_by_limits_needs_no_repair_because_the_library_decodes_in_its_own_way(tmp_path: Path):
    model = tmp_path / "tokenizer.model"
    # Without a prefix, llama.cpp differs in nearly all cases; the library decodes <unk> as ⁇.
    options = {"add_dummy_prefix": False, "user_defined_symbols": ["▁"]}
    model.write_bytes(train_model(vocab_size=60, model_type="unigram", **options))
    write_gguf(tmp_path / "model.gguf", sentencepiece_spec(model))
    code, output = invoke("fix", tmp_path / "model.gguf", "-r", str(model), "--dry-run")
    assert code == 0, output
    assert "decode differently, as libraries have their own ways" in " ".join(output.split())


def test_the_way_in_which_a_library_decodes_is_no_cause_of_what_is_repaired(tmp_path: Path):
    model = tmp_path / "tokenizer.model"
    options = {"user_defined_symbols": ["<one>", "<two>"]}
    model.write_bytes(train_model(vocab_size=60, model_type="unigram", **options))
    spec = sentencepiece_spec(model)
    exchanged = {"<one>": "<two>", "<two>": "<one>"}
    write_gguf(tmp_path / "model.gguf", replace(spec, tokens=[exchanged.get(token, token) for token in spec.tokens]))
    code, output = invoke("fix", tmp_path / "model.gguf", "-r", str(model), "--dry-run")
    assert code == 1, output
    assert "; 565 decode differently" in output
    assert "cause" not in output
    assert "repair rewriting 2 tokens (ids 3-4) as in the reference" in output


def test_fix_reports_that_it_cannot_repair_the_decoding():
    report = FixReport(Verification(3, 0, 1), checks=(FixCheck("decoding", 1, 1),))
    text = FORMATS["fix"]["table"](report, RenderOptions())
    assert text.startswith("before  3 cases match; 1 decodes differently\n")
    assert "\nrepair  none found for the decoding\n" in text
    assert fix_exit_code(report) == 1
