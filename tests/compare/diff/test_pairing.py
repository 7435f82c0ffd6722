"""Whether two models can be used together: planted pairs, with what each program says of them."""

from dataclasses import replace

import pytest
from click.testing import CliRunner

from support.paths import SAMPLE
from support.spec_maker import CONTROL, bpe_spec, spm_spec
from tokverify.case import Case
from tokverify.commands.cli import main
from tokverify.compare.diff.compare import compare_versions
from tokverify.compare.diff.version import Version
from tokverify.compare.side import side_of
from tokverify.engine.encoder import Encoder
from tokverify.report.diff import Fit, Use, diff_exit_code
from tokverify.spec import TokenizerSpec, TokenType

ENDS = {"<s>": CONTROL, "<e>": CONTROL}
"""The tokens 259 and 260."""
BASE = bpe_spec(["a b", "c d", "ab cd"], ENDS, special_ids={"bos": 259, "eos": 260}, add_bos=True)
TEXTS = [Case(id=text, suite="pairs", text=text) for text in ("abcd", "x")]


def renamed(token: int, piece: str) -> TokenizerSpec:
    return replace(BASE, tokens=[*BASE.tokens[:token], piece, *BASE.tokens[token + 1 :]])


def padded(count: int, type: TokenType = TokenType.UNUSED) -> TokenizerSpec:
    pads = [f"[PAD{len(BASE.tokens) + number}]" for number in range(count)]
    return replace(BASE, tokens=[*BASE.tokens, *pads], types=[*BASE.types, *[type.value] * count])


def judge(a: TokenizerSpec, b: TokenizerSpec, *uses: Use):
    versions = [Version(encoder := Encoder(spec), side_of(encoder), spec) for spec in (a, b)]
    return compare_versions(*versions, TEXTS, uses=uses)


@pytest.mark.parametrize(
    ("use", "b", "fit", "reason"),
    [
        (Use.SPECULATIVE, BASE, Fit.USABLE, "every id is the same token"),
        (Use.SPECULATIVE, padded(128), Fit.LIMITED, "the ids up to 260 are the same tokens"),
        (
            Use.SPECULATIVE,
            padded(129),
            Fit.UNUSABLE,
            "the target has 261 tokens, the draft 390; the numbers may differ",
        ),
        (Use.SPECULATIVE, spm_spec({"a": -1.0}), Fit.UNUSABLE, "the target is a bpe model, the draft a spm model"),
        (Use.SPECULATIVE, replace(BASE, add_bos=False), Fit.UNUSABLE, "only the target adds BOS"),
        (
            Use.SPECULATIVE,
            replace(BASE, special_ids={"bos": 260, "eos": 260}),
            Fit.UNUSABLE,
            "BOS is 259 in the target",
        ),
        # EOS is not added, so llama.cpp does not compare it.
        (Use.SPECULATIVE, replace(BASE, special_ids={"bos": 259, "eos": 259}), Fit.USABLE, "every id"),
        (Use.SPECULATIVE, renamed(5, "renamed"), Fit.UNUSABLE, 'such as 5: "'),
        (Use.SPECULATIVE, renamed(4, "renamed"), Fit.LOSSY, "of which these are other tokens: 4"),
        (Use.SPECULATIVE, replace(BASE, merges=BASE.merges[:2]), Fit.LOSSY, "12 of 88 texts get different ids"),
        (
            Use.SPECULATIVE_VLLM,
            padded(1),
            Fit.UNUSABLE,
            "vLLM refuses the pair: the target has 261 tokens, the draft 262",
        ),
        (Use.SPECULATIVE_VLLM, renamed(256, "ba"), Fit.LOSSY, 'such as 256: "ab" in A, "ba" in B'),
        (Use.SPECULATIVE_SGLANG, renamed(256, "ba"), Fit.UNUSABLE, "SGLang refuses the pair: 1 id is another token"),
        (Use.SPECULATIVE_SGLANG, BASE, Fit.USABLE, "every id"),
        (Use.ADAPTER, BASE, Fit.USABLE, "every id"),
        (Use.ADAPTER, padded(3, TokenType.NORMAL), Fit.LIMITED, "A has 261 tokens, B 264"),
        (Use.ADAPTER, renamed(256, "ba"), Fit.UNUSABLE, "the adapter would read other tokens"),
        (Use.ADAPTER, replace(BASE, special_ids={"bos": 259, "eos": 259}), Fit.LOSSY, "changed: eos"),
        (Use.EMBEDDING, BASE, Fit.USABLE, "none of 2 texts needs more tokens"),
        (Use.EMBEDDING, replace(BASE, merges=BASE.merges[:2]), Fit.LOSSY, "1 of 2 texts need more tokens in B"),
        (Use.GRAMMAR, BASE, Fit.USABLE, "every id"),
        (Use.GRAMMAR, renamed(256, "ba"), Fit.UNUSABLE, "the engine would allow texts"),
        (Use.GRAMMAR, replace(BASE, special_ids={"bos": 259, "eos": 259}), Fit.UNUSABLE, "ends a generation at 259"),
    ],
)
def test_pair(use, b, fit, reason):
    report = judge(BASE, b, use)
    [pairing] = report.pairings
    assert (pairing.use, pairing.fit) == (use, fit), pairing.reason
    assert reason in pairing.reason
    assert diff_exit_code(report) == (fit in {Fit.LOSSY, Fit.UNUSABLE})


def test_an_id_that_one_model_leaves_unused_is_not_another_token():
    trained = replace(padded(2), tokens=[*BASE.tokens, "<think>", "</think>"], types=[*BASE.types, CONTROL, CONTROL])
    [grammar, adapter] = judge(padded(2), trained, Use.GRAMMAR, Use.ADAPTER).pairings
    assert grammar.fit is Fit.LIMITED
    assert grammar.reason == "2 ids are used by only one of the two, the first of them 261"
    assert (adapter.fit, "2 control tokens" in adapter.reason) == (Fit.LOSSY, True)


def test_only_the_uses_decide():
    report = judge(BASE, replace(BASE, special_ids={"bos": 259, "eos": 259}), Use.SPECULATIVE, Use.EMBEDDING)
    assert report.parts
    assert diff_exit_code(report) == 0


def test_a_use_decides_at_the_command_line():
    sides = [str(SAMPLE / name) for name in ("sample.gguf", "sample-broken.gguf")]
    done = CliRunner().invoke(main, ["diff", *sides, "--for", "speculative", "--for", "grammar"])
    assert done.exit_code == 1
    assert "CAN THEY BE USED TOGETHER?" in done.output
    assert "speculative: lossy; grammar: usable" in " ".join(done.output.split())
    done = CliRunner().invoke(main, ["diff", *sides, "--for", "grammar", "-q"])
    assert done.exit_code == 0


def test_uses_exclude_levels():
    done = CliRunner().invoke(main, ["diff", "a", "b", "--for", "adapter", "--breaking", "ids"])
    assert done.exit_code == 2
    assert "use --for without --breaking" in done.output
