"""A unigram model that does what llama.cpp's does not, as sentencepiece and HuggingFace tokenizers do."""

from __future__ import annotations

import copy
from array import array
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import accumulate, compress, groupby

from tokverify.engine.attribute import Attribute, find_bits
from tokverify.engine.charsmap import Charsmap
from tokverify.engine.family import Settings
from tokverify.engine.models.boundary import SPACE
from tokverify.engine.models.lattice_trace import LOWEST
from tokverify.engine.models.unigram import IS_NORMAL, MATCHED, ONE, Unigram, merge_runs, unknown_score
from tokverify.engine.models.unigram_normalizer import UnigramNormalizer
from tokverify.engine.nfc import cut_to_nfc, to_nfc
from tokverify.engine.normalizer import ESCAPED_SPACE, escape_spaces
from tokverify.spec import TokenizerSpec, TokenType, ids_of_type
from tokverify.text.utf8 import to_bytes

_PREFERENCE = 0.1


def preferred_score(piece: bytes) -> float:
    """Return the score of a user-defined piece in sentencepiece, in single precision; all others are below zero."""
    return array("f", [(len(piece) - 1) * _PREFERENCE])[0]


class DeviatingUnigram:
    """Encodes each text from its beginning to its end; the options are those of `Deviation`.

    Source: `Model::EncodeOptimized` in sentencepiece's `src/unigram_model.cc`.
    """

    def __init__(  # noqa: PLR0913 - the options are keywords
        self,
        base: Unigram,
        spec: TokenizerSpec,
        settings: Settings,
        *,
        usable: Mapping[int, bool],
        scores: Sequence[float],
        user_defined_inside: bool,
        single_precision: bool,
        byte_fallback: bool,
        keeps_marker: bool,
        whole_pieces: bool,
    ) -> None:
        pieces, declared = settings.pieces, spec.types or [TokenType.NORMAL] * len(settings.pieces)
        usable = {id: is_usable for id, is_usable in usable.items() if id < len(pieces)}
        types = _change_types(declared, usable) if usable else declared
        stored = array("f", spec.scores or [0.0] * len(pieces))
        unknown = unknown_score(compress(stored, map(IS_NORMAL, types))) if usable else base.unknown[1]
        passing = [to_bytes(ESCAPED_SPACE)] if keeps_marker else []
        used: dict[int, tuple[str, float]] = {}
        for id in ids_of_type(types, TokenType.USER_DEFINED):
            passing.append(to_bytes(pieces[id]))
            # Such a piece is stored with spaces in a file, and with `▁` in the model, which looks for it later.
            piece = escape_spaces(pieces[id]) if user_defined_inside else pieces[id]
            used[id] = (piece, preferred_score(to_bytes(piece)) if user_defined_inside else 0.0)
        charsmap = Charsmap(spec.charsmap) if spec.charsmap is not None else None
        matches_whole_pieces = user_defined_inside or keeps_marker or whole_pieces
        self._make_normalizer = partial(
            _Normalizer, charsmap, passing, settings, matches_whole_pieces=matches_whole_pieces
        )
        self._normalizer = self._make_normalizer(is_prefixed=True)
        self._nfc = settings.nfc
        # subtle: llama.cpp gives pieces with the effective type USER_DEFINED the score 0; other libraries know only
        # declared types.
        changed = {*used, *usable, *find_bits(settings.attributes, Attribute.USER_DEFINED)}
        matched = {id: used.get(id, (pieces[id], stored[id])) for id in sorted(changed) if types[id] in MATCHED}
        self._symbols, self._tokens = base.change_pieces({id: pieces[id] for id in changed}, matched)
        self._lengths = base.lengths.copy()
        for text in (self._symbols.of_text(piece) for piece, _ in matched.values()):
            self._lengths[text[:1]] = [*self._lengths.get(text[:1], ONE), len(text)]
        self._scores = [used[id][1] if id in used else score for id, score in enumerate(scores)]
        self._unknown = (base.unknown[0], unknown)
        self._round = single_precision
        self._byte_ids = [settings.ids.get(f"<0x{byte:02X}>", base.unknown[0]) for byte in range(256)]
        self._falls_back = byte_fallback

    def without_prefix(self) -> DeviatingUnigram:
        """Return the same model, which adds no space before a text."""
        copied = copy.copy(self)
        copied._normalizer = self._make_normalizer(is_prefixed=False)  # noqa: SLF001 - the same class
        return copied

    def encode(self, text: str) -> list[int]:
        """Encode `text`."""
        return self._encode(to_nfc(text) if self._nfc else text)

    def encode_cut(self, text: str) -> list[int]:
        """Encode `text` with lone bytes."""
        return self._encode(cut_to_nfc(text) if self._nfc else text)

    def _encode(self, text: str) -> list[int]:
        normalized = self._normalizer.normalize(text)
        symbols = self._symbols.of_text(normalized)
        if not symbols:
            return []
        found = self._find(symbols)
        if not self._falls_back:
            return merge_runs([self._unknown[0] if id is None else id for id, _, _ in found], self._unknown[0])
        data = to_bytes(normalized)
        places = list(accumulate(self._symbols.sizes(normalized), initial=0))
        ids: list[int] = []
        # subtle: an unknown run, to which a text such as `<unk>` belongs, is looked up as a whole before its bytes.
        for is_unknown, run in groupby(found, key=lambda each: each[0] in {None, self._unknown[0]}):
            parts = list(run)
            start, end = parts[0][1], parts[-1][2]
            piece = self._tokens.get(symbols[start:end])
            if not is_unknown:
                ids += [id for id, _, _ in parts if id is not None]
            elif piece:
                ids.append(piece[0])
            else:
                ids += [self._byte_ids[byte] for byte in data[places[start] : places[end]]]
        return ids

    def _find(self, symbols: str) -> list[tuple[int | None, int, int]]:
        """Return the ids of the best segmentation, None for an unknown character, and where each begins and ends."""
        length = len(symbols)
        totals = array("f" if self._round else "d", [0.0, *[LOWEST] * length])
        best: list[tuple[int | None, int]] = [(None, 0)] * (length + 1)
        candidate = array(totals.typecode, [0.0])
        tokens, lengths, scores, count = self._tokens.get, self._lengths.get, self._scores, len(self._scores)
        for start in range(length):
            for size in lengths(symbols[start], ONE):
                end = start + size
                if end > length:
                    continue
                id, score = tokens(symbols[start:end]) or (None, self._unknown[1])
                if id is None and size > 1:
                    continue
                if id is not None and id < count:
                    score = scores[id]
                candidate[0] = totals[start] + score
                if candidate[0] > totals[end]:
                    totals[end], best[end] = candidate[0], (id, start)
        found, end = [], length
        while end:
            id, start = best[end]
            found.append((id, start, end))
            end = start
        return found[::-1]


def _change_types(types: Sequence[int], usable: Mapping[int, bool]) -> Sequence[int]:
    changed = list(types)
    for id, is_usable in usable.items():
        changed[id] = TokenType.NORMAL if is_usable else TokenType.CONTROL
    return changed


class _Normalizer(UnigramNormalizer):
    """Keeps only whole user-defined pieces, not everything that begins like one, and may add no space before a text."""

    def __init__(
        self,
        charsmap: Charsmap | None,
        passing: Sequence[bytes],
        settings: Settings,
        *,
        matches_whole_pieces: bool,
        is_prefixed: bool,
    ) -> None:
        # subtle: the other constructor already normalizes.
        self._matches_whole_pieces = matches_whole_pieces
        self._is_prefixed = is_prefixed
        super().__init__(
            charsmap,
            passing,
            merges_spaces=settings.remove_extra_whitespaces,
            prefixes_space=settings.add_space_prefix and is_prefixed,
        )

    def _passing_length(self, data: bytes, start: int) -> int:
        if not self._matches_whole_pieces:
            return super()._passing_length(data, start)
        return max((len(piece) for piece in self._passing if data.startswith(piece, start)), default=0)

    def _escape_spaces(self, text: str) -> str:
        escaped = super()._escape_spaces(text)
        # Where spaces are merged, the one that begins a text is not the text's own.
        keeps = self._is_prefixed or (text.startswith(" ") and not self.merges_spaces)
        return escaped if keeps else escaped.removeprefix(SPACE)
