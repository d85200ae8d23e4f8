"""What outlives the process: questions, answers still to be delivered, history, timings, events already seen."""

from clawdbot.store.access import AccessBook, Decision, Entry
from clawdbot.store.choices import ChoiceBook
from clawdbot.store.opening import Keeping, open_store
from clawdbot.store.records import Answer, Piece, Question, Revision, Turn, Unfinished
from clawdbot.store.spans import Trimming
from clawdbot.store.store import Store

__all__ = [
    "AccessBook",
    "Answer",
    "ChoiceBook",
    "Decision",
    "Entry",
    "Keeping",
    "Piece",
    "Question",
    "Revision",
    "Store",
    "Trimming",
    "Turn",
    "Unfinished",
    "open_store",
]
