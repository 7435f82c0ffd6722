import json

import pytest

from tokverify.train.chunk import LONGEST


@pytest.mark.parametrize("algorithm", ["bpe", "wordpiece", "cpp"])
def test_no_piece_is_learned_from_more_than_a_chunk(trained_on, algorithm: str):
    trained = trained_on(algorithm, "ab" * 2 * LONGEST, vocab_size=2500)
    pieces = json.loads(trained.data)["model"]["vocab"]
    assert max(len(piece.removeprefix("##")) for piece in pieces) == LONGEST
