from collections.abc import Callable
from pathlib import Path

import pytest

from tokverify.training import TRAINERS, Trained, TrainingPlan

SAMPLE_TEXT = Path(__file__).parents[1] / "data" / "sample_text.txt"


@pytest.fixture
def trained_on(tmp_path: Path) -> Callable[..., Trained]:
    """Train on a text, in this process."""

    def train(algorithm: str, text: str, **options: object) -> Trained:
        path = tmp_path / "corpus.txt"
        path.write_text(text, encoding="utf-8")
        return TRAINERS[algorithm](TrainingPlan(corpus=(path,), **options))

    return train
