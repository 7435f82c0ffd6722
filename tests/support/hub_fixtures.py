"""Fixtures of a hub on this machine, for the packages that need one."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from huggingface_hub import constants, hf_api

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
    with ExitStack() as stack:
        yield run_hub(stack, monkeypatch, tmp_path)


def run_hub(stack: ExitStack, patch: pytest.MonkeyPatch, cache: Path) -> FakeHub:
    """Run a hub until the stack ends, and configure huggingface_hub for it and for a local cache that is empty."""
    hub = FakeHub()
    patch.setattr(constants, "ENDPOINT", hub.endpoint)
    # The functions of the library keep the address that was set when it was imported.
    patch.setattr(hf_api.api, "endpoint", hub.endpoint)
    template = hub.endpoint + "/{repo_id}/resolve/{revision}/{filename}"
    patch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    patch.setattr(constants, "HF_HUB_CACHE", str(cache / "hf-cache"))
    patch.setattr(constants, "HF_HUB_OFFLINE", False)
    patch.setattr(constants, "HF_TOKEN_PATH", str(cache / "no-token"))
    for variable in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", *PROXIES):
        patch.delenv(variable, raising=False)
    stack.enter_context(serving(hub.api, hub.cdn))
    return hub
