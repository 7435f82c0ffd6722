"""Addresses of HTTP servers: their parts, redirects between them, and proxies on the way."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, urljoin, urlsplit

from tokverify.errors import TokverifyError

REDIRECTS = frozenset({301, 302, 303, 307, 308})
"""The statuses of responses that name another address."""
_HOST = re.compile(r"(?:(https?):/)?((?:localhost|[\w-]+(?:\.[\w-]+)*):[0-9]{1,5}(?:/.*)?)", re.ASCII)


def lacks_scheme(location: str) -> bool:
    """Whether what is no file looks like the address of a server without `http://`, or with one slash too few."""
    return bool(_HOST.fullmatch(location))


def scheme_advice(location: str) -> str:
    """Say how to write an address that lacks its scheme."""
    match = _HOST.fullmatch(location)
    scheme, host = match.groups() if match else (None, location)
    scheme = scheme or "http"
    return f"the address of a server begins with {scheme}://: {scheme}://{host}"


def origin_of(url: str, example: str = "https://example.org/model.gguf") -> str:
    """Return the scheme, host and port of an address; a message about an invalid one shows the example.

    Raises:
        TokverifyError: If it is not a valid HTTP address.
    """
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}[parts.scheme]
        if not parts.hostname or not url.isprintable() or " " in url:
            raise ValueError("no host")  # noqa: TRY301 - like urlsplit and port for other problems
        if parts.username is not None:
            raise TokverifyError(f"an address on {parts.hostname} contains a password; remove it")
    except (KeyError, ValueError):
        raise TokverifyError(f"{shown(url)!r}: not a valid address, such as {example}") from None
    return f"{parts.scheme}://{parts.hostname}:{port}"


def shown(url: str) -> str:
    """Return an address for messages, without what follows a question mark, which is often a signature."""
    return url.partition("?")[0]


def redirected(url: str, location: str) -> str:
    """Return where a redirect leads.

    Raises:
        TokverifyError: If that is not a valid address, or not a secure one while the first one is.
    """
    try:
        target = urljoin(url, location)
    except ValueError:
        raise TokverifyError(f"{shown(url)}: redirected to something that is not an address") from None
    origin = origin_of(target)
    if url.startswith("https:") and not origin.startswith("https:"):
        raise TokverifyError(f"{shown(url)}: redirected to an insecure address, which is not followed")
    return target


def proxy_for(url: str) -> SplitResult | None:
    """Return the address of the proxy that the environment names, such as in `HTTPS_PROXY`; None to use none.

    Raises:
        TokverifyError: If it is not a valid address, or contains a password, which is not supported.
    """
    from urllib.request import getproxies, proxy_bypass  # slow to import, and rarely needed

    parts = urlsplit(url)
    proxy = getproxies().get(parts.scheme)
    if not proxy or proxy_bypass(parts.netloc):
        return None
    origin_of(proxy)
    return urlsplit(proxy)
