"""Fixtures of a hub on this machine, for the packages that need one."""

import time
from collections.abc import Iterator

import pytest
from huggingface_hub import constants

from support.fake_hub import FakeHub, serving

PROXIES = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")


@pytest.fixture
def pauses(monkeypatch) -> list[float]:
    """Do not wait between attempts; return how long it would have been each time."""
    waited: list[float] = []
    monkeypatch.setattr(time, "sleep", waited.append)
    return waited


@pytest.fixture
def hub(tmp_path, monkeypatch, pauses) -> Iterator[FakeHub]:
    """A hub without repositories, which huggingface_hub is configured for, and an empty local cache."""
    hub = FakeHub()
    monkeypatch.setattr(constants, "ENDPOINT", hub.endpoint)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hf-cache"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))
    for variable in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", *PROXIES):
        monkeypatch.delenv(variable, raising=False)
    with serving(hub.api, hub.cdn):
        yield hub
