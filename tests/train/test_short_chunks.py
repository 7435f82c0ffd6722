import json

import pytest

from tokverify.train.corpus import LONGEST_CHUNK


@pytest.mark.parametrize("algorithm", ["bpe", "wordpiece", "cpp"])
def test_no_piece_is_longer_than_a_chunk(trained_on, algorithm: str):
    trained = trained_on(algorithm, "ab" * 2 * LONGEST_CHUNK, vocab_size=2500)
    pieces = json.loads(trained.data)["model"]["vocab"]
    assert max(len(piece.removeprefix("##")) for piece in pieces) == LONGEST_CHUNK
