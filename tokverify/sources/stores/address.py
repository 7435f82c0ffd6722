"""Models behind an address: `https://example.org/model.gguf`, of which only the metadata is downloaded."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tokverify.sources.stores import hub
from tokverify.sources.stores.head import HeadCache, obtain_head
from tokverify.sources.stores.model_file import ModelFile
from tokverify.sources.stores.remote_file import RemoteFile
from tokverify.system.http_address import origin_of, shown
from tokverify.system.http_client import HttpClient

_HUB_PATH = re.compile(r"/(\w[\w.-]*/\w[\w.-]*)/(?:resolve|blob)/([^/]+)/(.+)", re.ASCII)
_HUB_HOSTS = frozenset({"huggingface.co", "www.huggingface.co", "hf.co"})


def find(url: str) -> ModelFile:
    """Find the model behind an address. That of a file on the hub is treated like its name, `hf:org/name:file`.

    Raises:
        TokverifyError: If the address is not valid, or the file cannot be read.
    """
    from huggingface_hub import constants

    origin_of(url)
    parts = urlsplit(url)
    if parts.hostname in _HUB_HOSTS and (match := _HUB_PATH.fullmatch(unquote(parts.path))):
        return hub.find(f"{match[1]}:{match[3]}@{match[2]}")
    location = shown(url)
    client = HttpClient()
    head = obtain_head(
        HeadCache(url),
        lambda: RemoteFile(client, url, location),
        location,
        is_immutable=False,
        is_offline=constants.HF_HUB_OFFLINE,
    )
    name = Path(unquote(parts.path)).stem
    return ModelFile(path=head.path, name=name, location=location, sha256=head.sha256, address=url, is_partial=True)
