"""Codes that let somebody in: hard to guess, easy to read out."""

import re

from clawdbot.people.pairing import ALPHABET, GROUP, GROUPS, digest, find, new_code


def test_a_code_has_sixty_bits_that_are_easy_to_read_out() -> None:
    """With ten minutes and a hundred tries an hour nobody guesses one."""
    codes = {new_code() for _ in range(1000)}

    assert len(codes) == 1000
    assert len(ALPHABET) ** (GROUPS * GROUP) == 2**60
    assert not set("01IO") & set(ALPHABET)
    assert all(re.fullmatch(r"\w{4}-\w{4}-\w{4}", code) for code in codes)


def test_case_blanks_and_dashes_do_not_matter() -> None:
    assert {digest(text) for text in ("7KQM-2XJD-9FTP", "7kqm2xjd9ftp", " 7KQM 2XJD\n9ftp ")} == {
        digest("7KQM2XJD9FTP")
    }


def test_what_is_stored_of_a_code_does_not_tell_it() -> None:
    code = new_code()

    assert code.replace("-", "").encode() not in digest(code)


def test_a_code_is_found_among_others() -> None:
    codes = [new_code() for _ in range(5)]
    stored = [digest(code) for code in codes]

    assert [find(stored, code) for code in codes] == stored
    assert find(stored, new_code()) is None
    assert find([], codes[0]) is None


def test_any_text_may_be_tried() -> None:
    """It comes from strangers."""
    assert [find([digest(new_code())], text) for text in ("", "\ud800", "\0", "ß" * 100_000)] == [None] * 4
