"""The reports that are read back here are those on which the formats are tried."""

import pytest

pytest.register_assert_rewrite("support.saved_file", "support.codec_kind")
