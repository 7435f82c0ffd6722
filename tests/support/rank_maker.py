"""Make files of ranks in tiktoken's format."""

import base64


def byte_ranks(*tokens: bytes) -> bytes:
    """Return the content of a file with the single bytes, followed by other tokens."""
    all_tokens = [*(bytes([byte]) for byte in range(256)), *tokens]
    return b"".join(base64.b64encode(token) + b" %d\n" % id for id, token in enumerate(all_tokens))
