"""Let tests of chat templates share the child process that renders."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tokverify.chat.rendering import Renderer


class _Shared(Renderer):
    """A renderer whose child process goes on after a test."""

    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture(scope="session")
def shared_renderer() -> Iterator[Renderer]:
    shared = _Shared()
    yield shared
    Renderer.__exit__(shared)


@pytest.fixture
def renders_in_one_child(shared_renderer, monkeypatch):
    """Starting a child takes longer than most tests, which render with a template of their own."""
    monkeypatch.setattr("tokverify.chat.trial.Renderer", lambda: shared_renderer)
