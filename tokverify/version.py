"""The version of tokverify."""

from __future__ import annotations

__version__ = "0.1.0"
