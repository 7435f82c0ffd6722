"""Find the types of all tokens of a reference from ids alone, and what is added around a text."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tokverify.engine.encoder import Encoder
from tokverify.engine.special_text import BYTE_PIECE
from tokverify.repair.probe.matching import Matches, find_matches, find_singles, find_user_defined_runs, find_whole
from tokverify.repair.probe.vocabulary import BYTES, Vocabulary, find_byte_run, read_vocabulary
from tokverify.spec import AddedToken, TokenizerSpec, TokenType, ids_of_type
from tokverify.texts.batch import Queries
from tokverify.texts.frame import FRAMES
from tokverify.tokenizer import MatchListing, Tokenizer, TypeListing

RARE = ("\ua66e", "\U00012219", "\U00013080", "\U0001d80a", "\ua9c5")
"""Characters that hardly any vocabulary contains."""

_PLAIN_TEXTS = ("a", "1", "?", "")

_WORD = "q"
_SPACES = "  "


@dataclass(frozen=True, kw_only=True)
class ProbedTokens:
    """What ids reveal about the tokens of a reference."""

    vocabulary: Vocabulary
    types: Sequence[int]
    """The values of `TokenType` by id, as far as they affect ids."""
    byte_ids: Mapping[int, int]
    """The tokens typed BYTE -> the byte."""
    unknown: int | None
    """The token for characters outside the vocabulary; None if these are encoded as bytes."""
    added_tokens: Mapping[int, AddedToken]
    """The tokens that are matched in texts before the model runs."""
    undecided: frozenset[int]
    """Tokens that have the same ids in all probes whether they are NORMAL or USER_DEFINED; typed as is usual."""
    around: AddedAround | None
    """What `add_special` adds around a text; None if the reference cannot show that."""
    encodings: int
    """The number of texts that the reference has encoded so far."""


def probe_tokens(reference: Tokenizer | Observed, guess: TokenizerSpec) -> ProbedTokens:
    """Find the types of all tokens of a reference, which tokens are added around a text, and which strip whitespace.

    Args:
        reference: The reference, or what was observed of it for another guess. Only its ids, and the bytes and pieces
            of its tokens, are used.
        guess: A tokenizer with the same ids for the same tokens, which is probably similar. It serves to recognize
            ordinary tokens that stay whole in all probes only because nothing merges with them; its types are ignored.

    Raises:
        TokverifyError: If llama.cpp would refuse the guess.
    """
    observed = reference if isinstance(reference, Observed) else Observed.of(reference)
    return probe_with(observed, lambda plain: replace(guess, types=plain.types))


@dataclass(frozen=True)
class Observed:
    """What ids show of a reference's tokens whatever is guessed of them; each part is asked for once."""

    queries: Queries
    vocabulary: Vocabulary

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> Observed:
        """Return what a tokenizer shows, with the vocabulary that it lists."""
        return cls(Queries(tokenizer), read_vocabulary(tokenizer))

    @cached_property
    def matches(self) -> Matches:
        """The tokens that are matched in texts."""
        return find_matches(self.queries, self.vocabulary.texts)

    @cached_property
    def byte_ids(self) -> Mapping[int, int]:
        """The tokens typed BYTE -> the byte."""
        return find_byte_tokens(self.queries, self.vocabulary)

    @cached_property
    def unknown(self) -> int | None:
        """The token for characters outside the vocabulary."""
        return find_unknown(self.queries, self.vocabulary)

    @cached_property
    def around(self) -> AddedAround | None:
        """What `add_special` adds around a text."""
        return find_added_around(self.queries)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainTokens:
    """What is known before the user-defined tokens are; the fields are those of `ProbedTokens`."""

    types: Sequence[int]
    """USER_DEFINED tokens are typed NORMAL."""
    byte_ids: Mapping[int, int]
    unknown: int | None
    around: AddedAround | None


def probe_with(observed: Observed, make_guess: Callable[[PlainTokens], TokenizerSpec]) -> ProbedTokens:
    """Probe as `probe_tokens` does, with a guess that is made as soon as all other tokens are known."""
    queries, vocabulary, tokenizer = observed.queries, observed.vocabulary, observed.queries.tokenizer
    if isinstance(tokenizer, TypeListing) and isinstance(tokenizer, MatchListing):
        return _ask(observed, tokenizer.token_types(), tokenizer.added_tokens())
    matches, byte_ids, unknown = observed.matches, observed.byte_ids, observed.unknown
    types = _first_types(vocabulary, matches, byte_ids, unknown)
    guess = make_guess(PlainTokens(types=types, byte_ids=byte_ids, unknown=unknown, around=observed.around))
    user_defined = _find_user_defined(Encoder(guess), vocabulary, matches)
    singles = find_singles(vocabulary.texts, matches.always - user_defined, user_defined)
    rest = matches.always - user_defined - singles
    user_defined |= singles | find_user_defined_runs(queries, vocabulary.texts, rest, user_defined | singles, guess)
    return ProbedTokens(
        vocabulary=vocabulary,
        types=[TokenType.USER_DEFINED.value if id in user_defined else type for id, type in enumerate(types)],
        byte_ids=byte_ids,
        unknown=unknown,
        added_tokens=_make_added_tokens(queries, vocabulary, user_defined, matches.special),
        undecided=(matches.always - user_defined) | singles,
        around=observed.around,
        encodings=queries.count,
    )


def find_byte_tokens(queries: Queries, vocabulary: Vocabulary) -> Mapping[int, int]:
    """Map the ids of byte tokens to their bytes; empty if each byte has only one token, as in byte-level vocabularies.

    With byte tokens, some families encode characters outside the vocabulary.
    A byte token is recognized by its stored string, or because another token represents the same character.
    """
    if vocabulary.has_stored_strings:
        pieces = enumerate(vocabulary.pieces)
        matches = ((id, BYTE_PIECE.fullmatch(piece)) for id, piece in pieces if piece.startswith("<0x"))
        return {id: int(match[1], 16) for id, match in matches if match}
    run = find_byte_run(vocabulary.token_bytes)
    doubles = [byte for byte in range(0x21, 0x7F) if len(vocabulary.ids_of.get(bytes([byte]), ())) > 1]
    if not doubles:
        return {}
    return {run + byte: byte for byte in range(BYTES)} if run is not None else _find_unused(queries, vocabulary)


def _find_unused(queries: Queries, vocabulary: Vocabulary) -> dict[int, int]:
    """Return the tokens of single bytes that are not used for a character of their own."""
    found: dict[int, int] = {}
    for byte in range(BYTES):
        ids = vocabulary.ids_of.get(bytes([byte]), [])
        used = queries.encode(chr(byte)) or [] if byte < 0x80 else []  # noqa: PLR2004 - the end of ASCII
        candidates = [id for id in ids if id not in used]
        if candidates:
            found[candidates[0]] = byte
    return found


def find_unknown(queries: Queries, vocabulary: Vocabulary) -> int | None:
    """Return the token that stands for characters outside the vocabulary; None if they are encoded as bytes."""
    for character in RARE:
        ids = queries.encode(character)
        if ids and ids[-1] < vocabulary.size and character.encode() not in vocabulary.bytes_of(ids):
            return ids[-1]
    return None


@dataclass(frozen=True, slots=True)
class AddedAround:
    """The ids that `add_special` adds; None if the reference adds none because it does not know them."""

    before: tuple[int, ...]
    after: tuple[int, ...]


def find_added_around(queries: Queries) -> AddedAround | None:
    """Return what `add_special` adds around a text; None if that has no effect or is not clear."""
    if not queries.tokenizer.adds_special:
        return None
    for text in _PLAIN_TEXTS:
        plain, whole = queries.encode(text), queries.encode(text, add_special=True)
        if plain is None or whole is None:
            continue
        size = len(plain)
        starts = [start for start in range(len(whole) - size + 1) if whole[start : start + size] == plain]
        if len(starts) == 1:
            return AddedAround(tuple(whole[: starts[0]]), tuple(whole[starts[0] + size :]))
    return None


def _ask(observed: Observed, types: Sequence[int], added: Mapping[int, AddedToken]) -> ProbedTokens:
    """Probe a tokenizer that lists the types of its tokens."""
    token_bytes = observed.vocabulary.token_bytes
    listed = ids_of_type(types, TokenType.BYTE)
    return ProbedTokens(
        vocabulary=observed.vocabulary,
        types=list(map(int, types)),
        byte_ids={id: token_bytes[id][0] for id in listed if token_bytes[id]},
        unknown=observed.unknown,
        added_tokens=added,
        undecided=frozenset(),
        around=observed.around,
        encodings=observed.queries.count,
    )


def _first_types(
    vocabulary: Vocabulary, matches: Matches, byte_ids: Mapping[int, int], unknown: int | None
) -> list[int]:
    types = [(TokenType.NORMAL if data else TokenType.UNUSED).value for data in vocabulary.token_bytes]
    for id in matches.special:
        types[id] = TokenType.CONTROL.value
    for id in byte_ids:
        types[id] = TokenType.BYTE.value
    if unknown is not None:
        types[unknown] = TokenType.UNKNOWN.value
    return types


def _find_user_defined(plain: Encoder, vocabulary: Vocabulary, matches: Matches) -> frozenset[int]:
    """Return the tokens that the reference keeps whole where a tokenizer without user-defined tokens does not.

    A token whose text that tokenizer lacks is left out, as nothing shows how the reference matches it.
    """
    queries = Queries(plain)
    known = range(min(plain.vocab_size, vocabulary.size))
    # A user-defined token is stored as its text, which as a normal one stands for other bytes, if for any.
    alike = {
        id
        for id in known
        if plain.token_bytes(id) == vocabulary.token_bytes[id] or plain.spec.tokens[id] == vocabulary.texts[id]
    }
    found: set[int] = set()
    for frame, seen in zip(FRAMES, matches.seen, strict=True):
        ids = sorted((seen & alike) - found)
        found.update(set(ids) - find_whole(queries, frame, ids, vocabulary.texts).seen)
    return frozenset(found)


def _make_added_tokens(
    queries: Queries, vocabulary: Vocabulary, user_defined: frozenset[int], special: frozenset[int]
) -> dict[int, AddedToken]:
    added: dict[int, AddedToken] = {}
    for ids, parse_special in ((user_defined, False), (special, True)):
        stripping = find_stripping(queries, vocabulary.texts, sorted(ids), parse_special=parse_special)
        for id in sorted(ids):
            strips = id in stripping.before, id in stripping.after
            added[id] = AddedToken(id, vocabulary.texts[id] or "", parse_special, *strips)
    return added


@dataclass(frozen=True, slots=True)
class Stripping:
    """Ids of added tokens; empty if the reference ignores such whitespace anyway, so that it cannot be seen."""

    before: frozenset[int]
    after: frozenset[int]


def find_stripping(
    queries: Queries, texts: Sequence[str | None], ids: Collection[int], *, parse_special: bool
) -> Stripping:
    """Find which of the added tokens `ids` include the whitespace around them."""
    shown = [id for id in ids if texts[id] and texts[id] == (texts[id] or "").strip()]
    probes = [f"{_WORD}{_SPACES}{texts[id]}{_SPACES}{_WORD}" for id in shown]
    encodings = queries.encode_all(probes, parse_special=parse_special)
    around = [
        (ids[: ids.index(id)], ids[len(ids) - ids[::-1].index(id) :])
        for id, ids in zip(shown, encodings, strict=True)
        if ids and id in ids
    ]
    found = [id for id, ids in zip(shown, encodings, strict=True) if ids and id in ids]
    before = _find_stripped(queries, _WORD + _SPACES, [left for left, _ in around])
    after = _find_stripped(queries, _SPACES + _WORD, [right for _, right in around])
    return Stripping(frozenset(found[index] for index in before), frozenset(found[index] for index in after))


def _find_stripped(queries: Queries, spaced: str, sides: Sequence[Sequence[int]]) -> Iterator[int]:
    """Yield the indices of those sides that are encoded as if there were no spaces."""
    without, with_spaces = queries.encode(_WORD), queries.encode(spaced)
    if without != with_spaces:
        yield from (index for index, side in enumerate(sides) if side == without)
