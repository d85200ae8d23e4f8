"""An answer's text as the frames of its messages."""

from collections.abc import Sequence
from dataclasses import replace

from clawdbot import words
from clawdbot.chat import File, Frame, Limits, State
from clawdbot.delivery.markdown import heal, marked, shows, visible
from clawdbot.delivery.split import Splitter

REST_NAME = "answer.md"
# Characters that make room for the closing marks of a full message: first none, then as many as a code block needs.
HELD_BACK = (0, 16, 64)


class Layout:
    """Lays one answer out; the borders between its messages stay while its text grows."""

    def __init__(self, limits: Limits, most: int, footnote: str = "") -> None:
        """At most ``most`` messages of text; what does not fit them comes as a file with one more.

        With none there is a single message, and a text that does not fit it is all in its file.

        Every message has room for ``footnote``, the longest that may stand below the last one: were it made at the
        end, text that was read already would move to another message.
        """
        self._limits = limits
        self._footnote = footnote
        self._most = most
        self._splitter = Splitter(self._fits, limits.size, most)

    def growing(self, text: str) -> list[Frame]:
        """Frames for a text that goes on: closed for display, as many messages as may be; none when nothing shows."""
        pieces = self._splitter.parts(_plain(visible(text, growing=True)))
        if len(pieces) <= self._most:
            pieces[-1] = self._healed(pieces[-1])
        return _frames(pieces[: self._most], State.STREAMING)

    def _healed(self, piece: str) -> str:
        """``piece`` closed for display; where there is no room for that, some of its end waits for the next frame."""
        for held_back in HELD_BACK:
            healed = heal(piece[: len(piece) - held_back])
            if healed == piece or self._fits(healed):
                return healed
        return piece

    def final(
        self, text: str, state: State, files: Sequence[File] = (), *, private: bool = False, footnote: str = ""
    ) -> list[Frame]:
        """Frames for a finished text, with the mark of its state and a footnote below the last, if there is room."""
        whole = text if files and not text else marked(text, state)
        pieces = self._splitter.parts(_plain(whole))
        if len(pieces) > self._most and not (len(pieces) == 1 and self._fits(pieces[0])):
            plain = _plain(visible(text))
            kept = self._splitter.parts(plain)[: self._most]
            # Without anything left of the text it is only its mark that did not fit.
            if rest := self._splitter.after(plain, self._most):
                pieces = [*kept, marked(words.REST if kept else words.ATTACHED, state)]
                files = (*files, File(REST_NAME, rest.encode()))
        frames = _frames(pieces, state, tuple(files), private=private)
        if footnote and frames and frames[-1].text and self._limits.fits(_noted(frames[-1].text, footnote)):
            frames[-1] = replace(frames[-1], footnote=footnote)
        return frames

    def instead(self, frames: Sequence[Frame], refused: int, text: str, shown: Frame | None) -> list[list[Frame]]:
        """What to show when the platform never takes frame number ``refused`` of a finished ``text``, the best first.

        The text as a file, unless it was the file; what is ``shown`` there, with a word that it is not all; that word
        alone. The frames before it stay.
        """
        state, private = frames[-1].state, frames[-1].private
        whole = visible(text).strip()
        found = []
        if whole and not frames[refused].files:
            found.append(Frame(words.NOT_TAKEN, state, (File(REST_NAME, whole.encode()),), private))
        if shown is not None and shown.state is State.STREAMING:
            cut_off = f"{shown.text}\n\n{words.CUT_OFF}"
            found += [Frame(cut_off, State.FAILED, private=private)] if self._fits(cut_off) else []
        found.append(Frame(words.CUT_OFF, State.FAILED, private=private))
        return [[*frames[:refused], frame] for frame in found]

    def _fits(self, text: str) -> bool:
        return self._limits.fits(_noted(text, self._footnote))


def _noted(text: str, footnote: str) -> str:
    """What takes as much room as ``text`` with ``footnote`` below it."""
    return f"{text}\n\n*{footnote}*" if footnote else text


def _plain(text: str) -> str:
    """``text`` without the white space around it, which no platform shows; the first line stays indented."""
    return text.rstrip().lstrip("\n")


def _frames(pieces: Sequence[str], state: State, files: tuple[File, ...] = (), *, private: bool = False) -> list[Frame]:
    texts = [plain for piece in pieces if shows(plain := _plain(piece))]
    if not texts and not files:
        return []
    frames = [Frame(text, state, private=private, last=False) for text in texts[:-1]]
    return [*frames, Frame(texts[-1] if texts else "", state, files, private)]
