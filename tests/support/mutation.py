"""Faults to inject into good vocabularies one at a time, and the expected diagnosis of each."""

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace

from tokverify.spec import TokenizerSpec, TokenType

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, BYTE = (
    type.value
    for type in (TokenType.NORMAL, TokenType.UNKNOWN, TokenType.CONTROL, TokenType.USER_DEFINED, TokenType.BYTE)
)
Mutate = Callable[[TokenizerSpec], TokenizerSpec]


@dataclass(frozen=True)
class Mutation:
    """One fault to inject."""

    name: str
    vocabulary: str
    """`sample`, the name of a shared vocabulary, or that of an invented one."""
    mutate: Mutate
    kinds: tuple[str, ...]
    """The kinds of changes that count as the right diagnosis."""
    reference: str | None = None
    """The ending of the reference's file name; None for our encoder of the intact file."""
    table: int = 0
    """The number of the table of new faults; 0 for those that the diagnosis was developed with."""

    @property
    def id(self) -> str:
        return f"{self.vocabulary}: {self.name}"


def fields(**values: object) -> Mutate:
    return lambda spec: replace(spec, **values)


def retyped(old: int, new: int, *, where: Callable[[int, str], bool] = lambda id, token: True) -> Mutate:
    return lambda spec: replace(
        spec,
        types=[
            new if type == old and where(id, token) else type
            for id, (type, token) in enumerate(zip(spec.types, spec.tokens, strict=True))
        ],
    )


def retype(text: str, new: int) -> Mutate:
    return lambda spec: replace(
        spec, types=[new if token == text else type for type, token in zip(spec.types, spec.tokens, strict=True)]
    )


def merges(change: Callable[[list[str]], Sequence[str]]) -> Mutate:
    return lambda spec: replace(spec, merges=list(change(list(spec.merges))))


def scores(change: Callable[[list[float]], Sequence[float]]) -> Mutate:
    return lambda spec: replace(spec, scores=list(change(list(spec.scores))))


def tokens(change: Callable[[list[str]], Sequence[str]]) -> Mutate:
    return lambda spec: replace(spec, tokens=list(change(list(spec.tokens))))


def swapped(*pairs: tuple[str, str]) -> Mutate:
    """Swap the ids of each pair of pieces."""
    other = {left: right for pair in pairs for left, right in (pair, pair[::-1])}
    return tokens(lambda listed: [other.get(token, token) for token in listed])


def shifted(start: int, end: int) -> Mutate:
    """Shift the pieces of a range of ids by one id."""
    return tokens(lambda listed: [*listed[:start], listed[end - 1], *listed[start : end - 1], *listed[end:]])


def respelled(change: Callable[[str], str]) -> Mutate:
    return tokens(lambda old: list(map(change, old)))


def with_spaces(token: str) -> str:
    return token.replace("▁", " ") if token.strip("▁") else token


def in_lower_case(token: str) -> str:
    return token.lower() if token.startswith("<0x") else token


def with_hashes(token: str) -> str:
    """Store a piece as BERT does, which marks pieces that continue a word."""
    return token[1:] if token.startswith("▁") else token if token.startswith("[") else f"##{token}"


def special(**ids: int) -> Mutate:
    return lambda spec: replace(spec, special_ids={**spec.special_ids, **ids})


def cut_tokens(count: int) -> Mutate:
    return lambda spec: replace(
        spec,
        tokens=spec.tokens[:-count],
        types=spec.types[:-count],
        scores=None if spec.scores is None else spec.scores[:-count],
    )


def replaced_by_padding(spec: TokenizerSpec, gone: Set[int]) -> TokenizerSpec:
    """Replace tokens by `[PAD<id>]`, as a converter does for tokens it does not know."""
    return replace(
        spec,
        tokens=[f"[PAD{id}]" if id in gone else token for id, token in enumerate(spec.tokens)],
        types=[TokenType.UNUSED.value if id in gone else type for id, type in enumerate(spec.types)],
    )


def padded(*texts: str) -> Mutate:
    return lambda spec: replaced_by_padding(spec, {id for id, token in enumerate(spec.tokens) if token in texts})


def named(name: str) -> Mutate:
    return lambda spec: replace(spec, general={**spec.general, "name": name})


def is_run(character: str) -> Callable[[int, str], bool]:
    return lambda id, token: len(token) > 1 and set(token) == {character}


def has(part: str) -> Callable[[int, str], bool]:
    return lambda id, token: part in token


def part(start: int, end: int, change: Callable[[list], Sequence]) -> Callable[[list], list]:
    """Change a part of a list."""
    return lambda items: [*items[:start], *change(items[start:end]), *items[end:]]


def reverse_slice(start: int, end: int) -> Callable[[list], list]:
    return part(start, end, lambda items: items[::-1])


MODEL, JSON = ".tokenizer.model", ".tokenizer.json"
FOLDER = "folder"
"""The reference is the folder that a published model has, for the vocabularies of `TOKVERIFY_REAL`."""
TYPES, TOKENS, PRE, MERGES, SCORES = ("types",), ("tokens", "added", "types"), ("pre",), ("merges",), ("scores",)

MUTATIONS: tuple[Mutation, ...] = (
    # The bundled sample: a small SPM vocabulary similar to Gemma's.
    Mutation("USER_DEFINED typed NORMAL", "sample", retyped(USER_DEFINED, NORMAL), TYPES, MODEL),
    Mutation("runs of spaces typed NORMAL", "sample", retyped(USER_DEFINED, NORMAL, where=is_run(" ")), TYPES, MODEL),
    Mutation("runs of tabs typed NORMAL", "sample", retyped(USER_DEFINED, NORMAL, where=is_run("\t")), TYPES, MODEL),
    Mutation("NORMAL tokens typed USER_DEFINED", "sample", retyped(NORMAL, USER_DEFINED), TYPES, MODEL),
    Mutation("BYTE typed NORMAL", "sample", retyped(BYTE, NORMAL), TYPES),
    Mutation("a space prefix added", "sample", fields(add_space_prefix=True), ("add_space_prefix",), MODEL),
    Mutation("no flag for the space prefix", "sample", fields(add_space_prefix=None), ("add_space_prefix",), MODEL),
    Mutation("all scores zero", "sample", scores(lambda old: [0.0] * len(old)), SCORES, MODEL),
    Mutation("scores reversed", "sample", scores(lambda old: old[::-1]), SCORES, MODEL),
    Mutation("pieces with a space for ▁", "sample", respelled(with_spaces), TOKENS, MODEL),
    Mutation("BOS off", "sample", fields(add_bos=False), ("add_bos",)),
    Mutation("EOS on", "sample", fields(add_eos=True), ("add_eos",)),
    Mutation("BOS id wrong", "sample", special(bos=1), ("bos_id",)),
    Mutation("a name that llama.cpp strips spaces for", "llama-spm", named("Phi-3 mini"), ("name",)),
    # SPM: Llama 2.
    Mutation("no space prefix", "llama-spm", fields(add_space_prefix=False), ("add_space_prefix",), JSON),
    Mutation("BOS off", "llama-spm", fields(add_bos=False), ("add_bos",), JSON),
    Mutation("EOS on", "llama-spm", fields(add_eos=True), ("add_eos",), JSON),
    Mutation("BOS id wrong", "llama-spm", special(bos=2), ("bos_id",), JSON),
    Mutation("<s> typed NORMAL", "llama-spm", retype("<s>", NORMAL), TYPES, JSON),
    Mutation("two pieces swapped", "llama-spm", swapped(("▁the", "▁and")), TOKENS, MODEL),
    Mutation("a range of pieces moved by one id", "llama-spm", shifted(300, 400), TOKENS, MODEL),
    Mutation("scores all equal", "llama-spm", scores(lambda old: [-1000.0] * len(old)), SCORES, MODEL),
    Mutation("scores of a range reversed", "llama-spm", scores(reverse_slice(300, 2000)), SCORES, MODEL),
    Mutation("scores missing", "llama-spm", fields(scores=None), SCORES, MODEL),
    Mutation("byte pieces in lower case", "llama-spm", respelled(in_lower_case), TOKENS, MODEL),
    Mutation("types missing", "llama-spm", fields(types=None), TYPES, JSON),
    Mutation("pieces in the byte-level alphabet", "llama-spm", respelled(lambda t: t.replace("▁", "Ġ")), TOKENS, MODEL),
    # SPM: Gemma 3.
    Mutation("USER_DEFINED typed NORMAL", "gemma-3", retyped(USER_DEFINED, NORMAL), TYPES, JSON),
    Mutation("runs of spaces typed NORMAL", "gemma-3", retyped(USER_DEFINED, NORMAL, where=is_run(" ")), TYPES, JSON),
    Mutation("turn markers typed NORMAL", "gemma-3", retyped(CONTROL, NORMAL, where=has("turn")), TYPES, JSON),
    Mutation("BOS off", "gemma-3", fields(add_bos=False), ("add_bos",), JSON),
    # BPE: GPT-2, Qwen 2, Gemma 4.
    Mutation("pre default", "gpt-2", fields(pre="default"), PRE, JSON),
    Mutation("pre missing", "gpt-2", fields(pre=None), PRE, JSON),
    Mutation("pre llama-bpe", "gpt-2", fields(pre="llama-bpe"), PRE, JSON),
    Mutation("pre of a model with ignore_merges", "gpt-2", fields(pre="tekken"), PRE, JSON),
    Mutation("pre unknown", "gpt-2", fields(pre="no-such-name"), PRE, JSON),
    Mutation("merges missing", "gpt-2", fields(merges=None), MERGES, JSON),
    Mutation("merges cut at 10,000", "gpt-2", merges(lambda old: old[:10_000]), MERGES, JSON),
    Mutation("the first 100 merges missing", "gpt-2", merges(lambda old: old[100:]), MERGES, JSON),
    Mutation("the first 50 merges in reverse", "gpt-2", merges(reverse_slice(0, 50)), MERGES, JSON),
    Mutation("merges reversed", "gpt-2", merges(lambda old: old[::-1]), MERGES, JSON),
    Mutation("two pieces swapped", "gpt-2", swapped(("Ġthe", "Ġand")), TOKENS, JSON),
    Mutation("Ġ written as a space", "gpt-2", respelled(lambda t: t.replace("Ġ", " ")), TOKENS, JSON),
    Mutation("BOS on", "gpt-2", fields(add_bos=True), ("add_bos",), JSON),
    Mutation("EOS on", "gpt-2", fields(add_eos=True), ("add_eos",), JSON),
    Mutation("pre gpt-2", "qwen2", fields(pre="gpt-2"), PRE),
    # No token of Qwen 2 contains two digits, so of everything that name implies, only BOS makes a difference.
    Mutation("pre llama-bpe", "qwen2", fields(pre="llama-bpe"), (*PRE, "add_bos")),
    Mutation("pre default", "qwen2", fields(pre="default"), PRE),
    Mutation("chat tokens typed NORMAL", "qwen2", retyped(CONTROL, NORMAL, where=has("<|im")), TYPES),
    Mutation("added tokens written [PAD]", "qwen2", padded("<|im_start|>", "<|im_end|>"), TOKENS),
    Mutation("the last added tokens missing", "qwen2", cut_tokens(300), ("added",)),
    Mutation("CONTROL typed NORMAL", "gemma-4", retyped(CONTROL, NORMAL), TYPES, JSON),
    Mutation("merges cut at 400,000", "gemma-4", merges(lambda old: old[:400_000]), MERGES, JSON),
    Mutation("model llama", "gemma-4", fields(model="llama"), ("model",), JSON),
    # WordPiece.
    Mutation("lowercase off", "bert-bge", fields(lowercase=False), ("lowercase",)),
    Mutation("strip_accents off", "bert-bge", fields(strip_accents=False), ("strip_accents",)),
    Mutation("BOS id wrong", "bert-bge", special(bos=102), ("bos_id",)),
    Mutation("SEP id wrong", "bert-bge", special(sep=101), ("sep_id",)),
    Mutation("unknown id wrong", "bert-bge", special(unk=103), ("unk_id",)),
    Mutation("two pieces swapped", "bert-bge", swapped(("▁the", "▁of")), TOKENS),
    Mutation("pieces with ## instead of ▁", "bert-bge", respelled(with_hashes), TOKENS),
    Mutation("[MASK] typed NORMAL", "bert-bge", retype("[MASK]", NORMAL), TYPES),
    # Unigram. Against its .model, even the intact file differs in three cases, with user-defined pieces.
    Mutation("charsmap missing", "t5", fields(charsmap=None), ("charsmap",)),
    Mutation("extra ids typed CONTROL", "t5", retyped(USER_DEFINED, CONTROL), TYPES),
    Mutation("extra spaces kept", "t5", fields(remove_extra_whitespaces=False), ("remove_extra_whitespaces",)),
    Mutation("scores reversed", "t5", scores(reverse_slice(3, 2000)), SCORES),
    Mutation("two pieces swapped", "t5", swapped(("▁the", "▁to")), TOKENS),
    Mutation("EOS off", "t5", fields(add_eos=False), ("add_eos",)),
    Mutation("EOS id wrong", "t5", special(eos=0), ("eos_id",)),
    Mutation("pieces with a space for ▁", "t5", respelled(with_spaces), TOKENS),
    # The families without pre-tokenizers and merges, invented.
    Mutation("two pieces swapped", "rwkv", swapped(("ab", "bc")), TOKENS),
    Mutation("a range of pieces moved by one id", "rwkv", shifted(20, 40), TOKENS),
    Mutation("scores reversed", "plamo2", scores(lambda old: old[::-1]), SCORES),
    Mutation("BYTE typed NORMAL", "plamo2", retyped(BYTE, NORMAL), TYPES),
)  # fmt: skip
