"""Find types, flags and added tokens from ids, for small vocabularies of every family."""

from dataclasses import replace

import pytest

from support.bare_tokenizer import Bare
from support.spec_maker import BYTE, CONTROL, USER_DEFINED, bpe_spec, spec_of, spm_spec, unigram_spec
from tokverify.compare.opened import Opened
from tokverify.engine.encoder import Encoder
from tokverify.errors import UnsupportedError
from tokverify.repair.probe import probe_tokens
from tokverify.repair.probe.ids_only import IdsOnly
from tokverify.repair.probed_type_change import patches_by_probing
from tokverify.spec import TokenizerSpec, TokenType

NORMAL, UNKNOWN = TokenType.NORMAL.value, TokenType.UNKNOWN.value

SPM = spm_spec(
    {"▁": -5, "q": -9, "e": -9, "s": -9, "qu": -1, "▁qu": -2, "  ": -3, "<x>": -4, "<y>": -4},
    {"  ": USER_DEFINED, "<x>": CONTROL, "<y>": USER_DEFINED},
    add_bos=True,
)
BPE = bpe_spec(
    ["e s", "Ġ e", "Ġe s", "i n", "a r", "Ġ Ġ"],
    {"   ": USER_DEFINED, "<x>": CONTROL, "<y>": USER_DEFINED},
    special_ids={"bos": 0, "eos": 1},
    add_eos=True,
)
UNIGRAM = unigram_spec(
    dict.fromkeys("<unk>/spade", -9.0) | {"▁": -2, "q": -3, "es": -4, "▁q": -4.5, ".": -5, "<x>": 0, "<y>": 0},
    {".": USER_DEFINED, "<x>": CONTROL, "<y>": USER_DEFINED},
    special_ids={"eos": 1, "unk": 2},
    add_eos=True,
    add_space_prefix=True,
    remove_extra_whitespaces=True,
)
BERT = spec_of(
    "bert",
    ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "▁q", "▁e", "q", "e", "▁.", "<y>"],
    {"[PAD]": CONTROL, "[UNK]": CONTROL, "[CLS]": CONTROL, "[SEP]": CONTROL, "[MASK]": CONTROL, "<y>": USER_DEFINED},
    special_ids={"unk": 1, "bos": 2, "sep": 3},
)
RWKV = spec_of(
    "rwkv",
    ["<s>", *(f"\\x{byte:02x}" for byte in range(0x100)), "es", " e", "<y>"],
    {"<s>": CONTROL, "<y>": USER_DEFINED},
)
PLAMO = spec_of(
    "plamo2",
    ["<unk>", *(f"<0x{byte:02X}>" for byte in range(0x100)), "q", "e", "qe", "<y>"],
    {"<unk>": UNKNOWN, "<y>": USER_DEFINED} | {f"<0x{byte:02X}>": BYTE for byte in range(0x100)},
    scores=[0.0] * 257 + [-1.0, -2.0, -0.5, 0.0],
)
SPECS = {"llama": SPM, "gpt2": BPE, "t5": UNIGRAM, "bert": BERT}
GREEDY = {"rwkv": RWKV, "plamo2": PLAMO}
"""Families that take a long piece wherever it is possible, whatever its type."""


def plain(spec: TokenizerSpec) -> TokenizerSpec:
    """Forget all types, as if a converter had lost them."""
    return replace(spec, types=[NORMAL] * len(spec.tokens))


def matched(encoder: Encoder) -> dict[int, bool]:
    return {token.id: token.special for token in encoder.settings.added_tokens}


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("hide", [Bare, lambda encoder: encoder], ids=["bare", "stored strings"])
def test_the_tokens_that_are_matched_in_texts_are_found(name, hide):
    encoder = Encoder(SPECS[name])
    probed = probe_tokens(hide(encoder), plain(SPECS[name]))
    found = {token.id: token.special for token in probed.added_tokens.values()}
    assert found == matched(encoder)


@pytest.mark.parametrize("name", GREEDY)
def test_tokens_that_stay_whole_whatever_their_type_are_undecided(name):
    encoder = Encoder(GREEDY[name])
    probed = probe_tokens(Bare(encoder), plain(GREEDY[name]))
    assert matched(encoder).keys() <= probed.added_tokens.keys() | probed.undecided


def test_types_follow_from_the_matches():
    probed = probe_tokens(Bare(Encoder(SPM)), plain(SPM))
    # `<unk>` is matched like a control token, and nothing reveals that it is not one.
    assert list(probed.types) == [CONTROL, *SPM.types[1:]]


def test_the_unknown_token_is_the_one_for_characters_outside_the_vocabulary():
    assert probe_tokens(Bare(Encoder(UNIGRAM)), plain(UNIGRAM)).unknown == 2
    assert probe_tokens(Bare(Encoder(BERT)), plain(BERT)).unknown == 1
    assert probe_tokens(Bare(Encoder(SPM)), plain(SPM)).unknown is None


@pytest.mark.parametrize("spec", [BPE, SPM, UNIGRAM, BERT])
def test_a_reference_that_lists_only_some_of_its_tokens_reveals_no_types(spec):
    reference = Bare(Encoder(spec))
    reference.vocab_size = 1
    assert reference.encode("\ua66e", add_special=False, parse_special=False)[-1] >= reference.vocab_size
    assert patches_by_probing(Opened(reference), plain(spec)) == {}


def test_a_reference_that_lists_no_tokens_cannot_be_probed():
    reference = Bare(Encoder(SPM))
    reference.vocab_size, reference.hidden_vocabulary = 0, "bare lists none"
    for hiding in (reference, IdsOnly(reference)):
        with pytest.raises(UnsupportedError, match="bare lists none"):
            probe_tokens(hiding, plain(SPM))
    assert patches_by_probing(Opened(reference), plain(SPM)) == {}


def test_a_byte_token_without_bytes_is_no_byte_token():
    class Listing(Bare):
        def token_types(self):
            return [TokenType(type) for type in SPM.types]

        def added_tokens(self):
            return {}

        def token_bytes(self, id):
            return b"" if id == byte else super().token_bytes(id)

    byte, *others = (id for id, type in enumerate(SPM.types) if type == BYTE)
    assert set(probe_tokens(Listing(Encoder(SPM)), SPM).byte_ids) == set(others)


@pytest.mark.parametrize(
    ("spec", "before", "after"), [(SPM, (1,), ()), (BPE, (), (1,)), (UNIGRAM, (), (1,)), (BERT, (2,), (3,))]
)
def test_the_tokens_added_around_a_text_are_found(spec, before, after):
    around = probe_tokens(Bare(Encoder(spec)), plain(spec)).around
    assert (around.before, around.after) == (before, after)


def test_tokens_that_strip_whitespace_are_found():
    spec = replace(
        bpe_spec(
            ["e s"], {"</s>": CONTROL, "<s>": CONTROL, "<unk>": CONTROL, "<|endoftext|>": CONTROL, "<x>": CONTROL}
        ),
        general={"name": "Phi-3 mini"},
    )
    encoder = Encoder(spec)
    probed = probe_tokens(Bare(encoder), plain(spec))
    expected = {token.id for token in encoder.settings.added_tokens if token.rstrip}
    assert len(expected) == 2
    assert {id for id, token in probed.added_tokens.items() if token.rstrip} == expected
    assert not any(token.lstrip for token in probed.added_tokens.values())


def test_a_token_inside_a_longer_one_is_found():
    spec = bpe_spec(["e s"], {"<a>": CONTROL, "<a>q": CONTROL, "x<a>": USER_DEFINED, "q<b>": CONTROL, "<b>": CONTROL})
    encoder = Encoder(spec)
    probed = probe_tokens(Bare(encoder), plain(spec))
    assert {token.id: token.special for token in probed.added_tokens.values()} == matched(encoder)


def test_a_reference_without_special_parsing_shows_only_user_defined_tokens():
    reference = Bare(Encoder(SPM))
    reference.parses_special = False
    probed = probe_tokens(reference, plain(SPM))
    assert {token.text for token in probed.added_tokens.values()} == {"  ", "<y>"}


def test_a_token_that_never_merges_is_undecided():
    spec = bpe_spec(["s i", "e s"], {"<y>": USER_DEFINED})
    probed = probe_tokens(Bare(Encoder(spec)), plain(spec))
    assert spec.tokens.index("%") in probed.undecided
    assert spec.tokens.index("es") not in probed.undecided  # `si` is merged first between t and i


def test_a_single_character_whose_runs_are_matched_is_undecided():
    """It is typed like its runs, but nothing reveals it, so the diagnosis must not call another type wrong."""
    spec = bpe_spec(["e s", "Ġ e"], dict.fromkeys(("\t\t", "\t\t\t"), USER_DEFINED))
    single = spec.tokens.index("ĉ")
    probed = probe_tokens(Bare(Encoder(spec)), plain(spec))
    assert single in probed.undecided
    assert probed.types[single] == USER_DEFINED
    assert not patches_by_probing(Opened(Bare(Encoder(spec))), spec)


def test_no_type_is_revealed_of_a_token_with_another_text():
    other = replace(RWKV, tokens=["zz" if piece == "es" else piece for piece in RWKV.tokens])
    assert patches_by_probing(Opened(Bare(Encoder(RWKV))), other) == {}


def test_a_token_whose_merge_comes_too_late_is_not_taken_for_one_that_the_reference_matches():
    right = bpe_spec(["a b", "b c", "ab c", "c d"])
    wrong = replace(right, merges=["b c", "a b", "ab c", "c d"])
    assert patches_by_probing(Opened(Bare(Encoder(right))), wrong) == {}
