from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def ray_without_tokens() -> Iterator[None]:
    """Let the nodes of a Ray cluster and the command trust each other.

    subtle: Ray reads this variable only once in a process, so it must be the same for all tests.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "disabled")
        yield
