"""What people can ask of the bot itself: the one table behind every platform's menu and /help."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from clawdbot.chat import Conversation, Person

Suggest = Callable[[str, Conversation, Person], Sequence[str]]
"""What somebody could mean as the argument of the command of that name, in a place; nothing for who may not talk."""


@dataclass(frozen=True, slots=True)
class Command:
    """Something that people can ask of the bot itself, as menus and /help show it."""

    name: str
    """Lower case, without the slash."""
    about: str
    """What it does, in a few words: Discord takes 100 characters."""
    admins_only: bool = False
    argument: str = ""
    """What may be said behind the name, in a word, such as "code"; "" where nothing is looked at."""
    suggested: bool = False
    """Whether the bot has suggestions (`Suggest`) for the argument while it is typed."""
    choices: tuple[str, ...] = ()
    """All that can be meant by the argument; empty where it may be anything."""
    everybody: str = ""
    """The argument with which everybody may use what is for admins else; "" where there is none."""

    def is_open(self, argument: str) -> bool:
        """Whether somebody who is no admin may use it with ``argument``."""
        return not self.admins_only or (self.everybody != "" and argument.lower() == self.everybody)


COMMANDS = (
    Command("new", "Start a new conversation"),
    Command("stop", "Stop the answer that is being written"),
    Command("retry", "Write the last answer anew"),
    Command("undo", "Forget the last question and its answer"),
    Command("persona", "Show who answers here, or choose another one", argument="name", suggested=True),
    Command("model", "Show which model answers here, or choose another one", argument="name", suggested=True),
    Command("usage", "Show what you have used, and how long this conversation is"),
    Command("help", "Say what this bot can do"),
    Command(
        "latency",
        "Show how fast your last answers came (me); where the time of all went (for admins)",
        admins_only=True,
        argument="whose",
        choices=("me",),
        everybody="me",
    ),
    Command("allow", "Let somebody talk to this bot, by number (for admins)", admins_only=True, argument="number"),
    Command("deny", "Keep somebody out, by number (for admins)", admins_only=True, argument="number"),
    Command("pair", "Use a code that an admin gave you (admins: make one)", admins_only=True, argument="code"),
    Command("audit", "Show who was let in or refused (for admins)", admins_only=True),
)
"""In the order of the menus. What they do is in `clawdbot.commands.commands`."""


def nothing(command: str, where: Conversation, by: Person) -> Sequence[str]:
    """A `Suggest` that knows nothing."""
    return ()
