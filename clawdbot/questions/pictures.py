"""Bytes to a picture that a model can be shown, or to nothing. Pure."""

from io import BytesIO

from PIL import Image, ImageOps, UnidentifiedImageError

FORMATS = ("PNG", "JPEG", "WEBP", "GIF")
"""What is opened at all: each format is code that strangers' bytes run through."""
MOST_PIXELS = 50_000_000
"""A larger picture takes gigabytes of memory when it is unpacked, however few bytes it has."""
LONGEST_SIDE = 1536
"""Pixels; a larger one is made smaller, since models see no more and every pixel costs tokens."""


def open_picture(data: bytes) -> Image.Image | None:
    """The first frame, upright, in colours and of bounded size; None when it is no picture, or one that is too large.

    Takes up to some hundred milliseconds.
    """
    try:
        with Image.open(BytesIO(data), formats=FORMATS) as found:
            if found.width * found.height > MOST_PIXELS:
                return None
            # Before it is turned, which takes a copy; JPEG is unpacked at a fraction of its size.
            found.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
            return _on_white(ImageOps.exif_transpose(found))
    except (
        Image.DecompressionBombError,
        Image.DecompressionBombWarning,
        UnidentifiedImageError,
        EOFError,
        OSError,
        SyntaxError,
        ValueError,
    ):
        return None  # what the library raises over bytes that are damaged, or made to harm


def _on_white(picture: Image.Image) -> Image.Image:
    """Without transparency, behind which there may be any colour."""
    if picture.has_transparency_data:
        solid = picture.convert("RGBA")
        white = Image.new("RGBA", solid.size, "white")
        return Image.alpha_composite(white, solid).convert("RGB")
    return picture.convert("RGB")
