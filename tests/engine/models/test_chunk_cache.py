import pytest

from tokverify.engine.models import chunk_cache
from tokverify.engine.models.chunk_cache import ChunkCache, cached_stages
from tokverify.errors import EncodeError


@pytest.fixture
def seen() -> list[str]:
    """The texts that had to be worked out."""
    return []


@pytest.fixture
def lengths(seen: list[str]) -> ChunkCache:
    def encode(text: str) -> tuple[int, ...]:
        seen.append(text)
        return (len(text),)

    return ChunkCache(encode)


def test_a_text_is_computed_once(lengths: ChunkCache, seen: list[str]):
    assert [lengths["abc"], lengths["de"], lengths["abc"]] == [(3,), (2,), (3,)]
    assert seen == ["abc", "de"]


def test_a_long_text_is_not_kept(lengths: ChunkCache, seen: list[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(chunk_cache, "LENGTH", 3)
    assert [lengths[text] for text in ("abc", "abcd", "abc", "abcd")] == [(3,), (4,), (3,), (4,)]
    assert seen == ["abc", "abcd", "abcd"]


def test_a_full_cache_is_cleared(seen: list[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(chunk_cache, "ROOM", 10)
    lengths = ChunkCache(lambda text: (len(text),))
    for count in range(100):
        assert lengths[f"{count:04}"] == (4,)
        assert sum(map(len, lengths)) <= 10 + 4


def test_failures_are_not_cached(seen: list[str]):
    def fail(text: str) -> tuple[int, ...]:
        seen.append(text)
        raise EncodeError(text)

    failing = ChunkCache(fail)
    for _ in range(2):
        with pytest.raises(EncodeError):
            failing["a"]
    assert seen == ["a", "a"]
    assert not failing


def test_each_stage_caches_its_chunks(seen: list[str]):
    def encode(text: str) -> tuple[int, ...]:
        seen.append(text)
        return (len(text),)

    words = cached_stages([str.splitlines, str.split], encode)
    assert words("a bcd\na bcd") == (1, 3, 1, 3)
    assert words("a bcd\nbcd ef") == (1, 3, 3, 2)
    assert words("") == ()
    assert seen == ["a", "bcd", "ef"]
