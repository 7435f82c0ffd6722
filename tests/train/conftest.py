from collections.abc import Callable
from pathlib import Path

import pytest

from support.paths import DATA
from tokverify.train import TRAINERS, Trained, TrainingPlan

SAMPLE_TEXT = DATA / "sample_text.txt"


@pytest.fixture
def trained_on(tmp_path: Path) -> Callable[..., Trained]:
    """Train on a text, in this process."""

    def train(algorithm: str, text: str, **options: object) -> Trained:
        path = tmp_path / "corpus.txt"
        path.write_text(text, encoding="utf-8")
        return TRAINERS[algorithm](TrainingPlan(corpus=(path,), **options))

    return train
