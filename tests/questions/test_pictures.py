"""Strangers' bytes become a picture of bounded size, or nothing."""

from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from clawdbot.questions import pictures
from clawdbot.questions.pictures import LONGEST_SIDE, open_picture


def written(image: Image.Image, form: str = "PNG", **options: object) -> bytes:
    out = BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "GIF"])
def test_what_people_send_is_opened(form: str) -> None:
    picture = open_picture(written(Image.new("RGB", (40, 30), "red"), form))

    assert picture is not None
    assert (picture.mode, picture.size) == ("RGB", (40, 30))
    red, green, blue = picture.getpixel((20, 15))  # type: ignore[misc]
    assert red > 240
    assert max(green, blue) < 20


@pytest.mark.parametrize("mode", ["L", "P", "RGBA", "CMYK", "I;16"])
def test_every_kind_of_colours_is_made_one(mode: str) -> None:
    form = "JPEG" if mode == "CMYK" else "PNG"
    picture = open_picture(written(Image.new(mode, (4, 3)), form))

    assert picture is not None
    assert picture.mode == "RGB"


def test_what_is_transparent_is_white() -> None:
    """Behind it there may be any colour, black text on black as likely as not."""
    picture = open_picture(written(Image.new("RGBA", (4, 3), (0, 0, 0, 0))))

    assert picture is not None
    assert picture.getpixel((0, 0)) == (255, 255, 255)


def test_a_large_one_is_made_smaller() -> None:
    picture = open_picture(written(Image.new("L", (4000, 1000)), "JPEG"))

    assert picture is not None
    assert picture.size == (LONGEST_SIDE, LONGEST_SIDE // 4)


def test_one_that_lies_on_its_side_is_put_upright() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    picture = open_picture(written(Image.new("RGB", (40, 30)), "JPEG", exif=exif))

    assert picture is not None
    assert picture.size == (30, 40)


def test_a_bomb_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few kilobytes may unpack to gigabytes; the size is known before."""
    data = written(Image.new("1", (20_000, 20_000)))
    assert len(data) < 100_000
    monkeypatch.setattr(Image.Image, "load", lambda _: pytest.fail("it was unpacked"))

    assert open_picture(data) is None


def test_one_that_is_just_too_large_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "MOST_PIXELS", 100)

    assert open_picture(written(Image.new("L", (10, 10)))) is not None
    assert open_picture(written(Image.new("L", (10, 11)))) is None


def test_other_formats_are_not_opened() -> None:
    """Each is code that strangers' bytes run through."""
    assert open_picture(written(Image.new("RGB", (4, 3)), "BMP")) is None


def test_one_that_is_cut_off_is_none() -> None:
    data = written(Image.effect_noise((100, 100), 50.0))

    assert open_picture(data[: len(data) // 2]) is None


@given(st.binary(), st.integers(0, 60))
def test_no_bytes_raise(garbage: bytes, at: int) -> None:
    whole = written(Image.new("RGB", (4, 3), "red"))

    open_picture(garbage)
    open_picture(whole[:at] + garbage + whole[at:])
