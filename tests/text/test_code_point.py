from tokverify.text.visible import code_points


def test_characters_are_named():
    assert code_points(" é🦙") == [
        "U+0020 SPACE",
        "U+00E9 LATIN SMALL LETTER E WITH ACUTE",
        "U+1F999 LLAMA",
    ]


def test_characters_without_a_name_have_a_code_point():
    assert code_points("\t\x01\ue000") == ["U+0009 TAB", "U+0001 (no name)", "U+E000 (no name)"]


def test_bytes_that_are_not_utf8_differ_from_surrogates():
    assert code_points("\udcff\ud800") == ["byte 0xFF", "U+D800 (no name)"]
