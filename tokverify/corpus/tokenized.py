"""Check data that is already tokenized: the ids of each document, and its text if there is one.

With a text, the ids are compared with those that the tokenizer returns for it. Without one, they are decoded and
encoded again: ids that do not come back are not what the tokenizer would return for their own text.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tokverify.compare.affix import affixes_of
from tokverify.corpus.cause import AROUND, Classifier
from tokverify.corpus.check import BATCH_CHARACTERS, Checked, Found
from tokverify.corpus.document import Document
from tokverify.engine.batch import EncodedBatch
from tokverify.engine.encoder import Encoder
from tokverify.errors import EncodeError
from tokverify.report.corpus import CorpusCause
from tokverify.texts.mode import Mode

_NOT_ENCODED = "the tokenizer cannot encode the text"


class TokenizedChecker:
    """Compares the ids in a corpus with those of the tokenizer that should have produced them.

    The ids in the corpus are the actual side.

    Args:
        encoder: The tokenizer.
        mode: The options with which the corpus should have been tokenized.
        classifier: Names the causes of differences that can also occur between two tokenizers.
    """

    def __init__(self, encoder: Encoder, mode: Mode, classifier: Classifier) -> None:
        self.batch_characters = BATCH_CHARACTERS
        self._encoder = encoder
        self._mode = mode
        self._classifier = classifier
        self._padding = _padding_of(encoder)
        self._affixes = affixes_of(encoder) if mode.add_special else ([], [])

    def check(self, documents: Sequence[Document]) -> Checked:
        """Check a batch of documents, which must have ids."""
        actual = [list(document.ids or ()) for document in documents]
        expected = list(map(self._encode, documents, actual))
        checked = Checked(EncodedBatch.from_lists(map(self._keep_known, actual)), sum(map(len, filter(None, expected))))
        for index, (ids, others) in enumerate(zip(actual, expected, strict=True)):
            if others is None:
                checked.failed.append((index, _NOT_ENCODED))
            elif ids != others:
                causes = self.find_causes(ids, others, has_text=documents[index].text is not None)
                checked.different.append(Found(index, causes, ids, others))
        return checked

    def differ(self, text: str) -> None:
        """Return nothing: the ids of a part of a text are not known."""

    def find_causes(self, actual: list[int], expected: list[int], *, has_text: bool) -> tuple[CorpusCause, ...]:
        """Return why the ids of a document are not those that the tokenizer returns."""
        found = set[CorpusCause]()
        inner = _strip(actual, self._padding)
        if len(inner) < len(actual):
            found.add(CorpusCause.PADDING)
        if any(id >= self._encoder.vocab_size for id in inner):
            found.add(CorpusCause.OUTSIDE_VOCABULARY)
        elif has_text and self._is_truncated(inner, expected):
            found.add(CorpusCause.TRUNCATED)
        elif inner != expected:
            causes = self._classifier.classify(inner, expected)
            found.update(causes if has_text else (_name_without_text(cause) for cause in causes))
        return tuple(cause for cause in CorpusCause if cause in found)

    def _is_truncated(self, actual: list[int], expected: list[int]) -> bool:
        """Check whether the ids are a beginning of the expected ones, perhaps with what is added at the end."""
        before, after = self._affixes
        ended = bool(after) and actual[-len(after) :] == after
        kept = actual[: len(actual) - len(after)] if ended else actual
        whole = expected[: len(expected) - len(after)]
        return len(before) < len(kept) < len(whole) and whole[: len(kept)] == kept

    def _encode(self, document: Document, ids: list[int]) -> list[int] | None:
        """Return the ids that a document should have; None if its text cannot be encoded."""
        try:
            if document.text is not None:
                return self._encoder.encode(document.text, **self._mode._asdict())
            return self._encode_again(ids)
        except EncodeError:
            return None

    def _encode_again(self, ids: list[int]) -> list[int]:
        """Return the ids of the text that ids represent, between the tokens that are added around a text."""
        before, after = self._affixes
        inner = self._keep_known(_strip(ids, self._padding))
        inner = _strip_end(_strip_end(inner[::-1], set(before))[::-1], set(after))
        encoded = self._encoder.encode(self._encoder.decode(inner), add_special=False, parse_special=True)
        return [*before, *encoded, *after]

    def _keep_known(self, ids: list[int]) -> list[int]:
        """Return the ids that are in the vocabulary."""
        size = self._encoder.vocab_size
        return ids if max(ids, default=0) < size else [id for id in ids if id < size]


def _name_without_text(cause: CorpusCause) -> CorpusCause:
    """Return the cause of a difference that was found by decoding and encoding again."""
    return cause if cause in AROUND else CorpusCause.NOT_CANONICAL


def _padding_of(encoder: Encoder) -> frozenset[int]:
    """Return the ids that pad documents: that of the role, unless the token also ends or begins a text."""
    others = {encoder.special_ids.get(role) for role in ("bos", "eos", "unk", "sep")}
    return frozenset(id for id in [encoder.special_ids.get("pad")] if id is not None and id not in others)


def _strip(ids: list[int], unwanted: Collection[int]) -> list[int]:
    """Remove ids from both ends."""
    return _strip_end(_strip_end(ids[::-1], unwanted)[::-1], unwanted)


def _strip_end(ids: list[int], unwanted: Collection[int]) -> list[int]:
    end = len(ids)
    while end and ids[end - 1] in unwanted:
        end -= 1
    return ids[:end]
