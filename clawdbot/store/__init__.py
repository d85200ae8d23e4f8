"""What outlives the process: questions, answers still to be delivered, history, timings, events already seen."""

from clawdbot.store.access import AccessBook, Decision, Entry
from clawdbot.store.choices import ChoiceBook
from clawdbot.store.records import Answer, Question, Turn, Unfinished
from clawdbot.store.store import Store, open_store

__all__ = [
    "AccessBook",
    "Answer",
    "ChoiceBook",
    "Decision",
    "Entry",
    "Question",
    "Store",
    "Turn",
    "Unfinished",
    "open_store",
]
