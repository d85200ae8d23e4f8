"""Which updates are meant for the bot, and what they say."""

from typing import Any

import pytest
from telegram import Update, User

from clawdbot.chat import Edited, Message, Person, Pressed, Quoted
from clawdbot_telegram.place import Place
from clawdbot_telegram.updates import understood

ME = User(99, "Claw", is_bot=True, username="claw_bot")
ADA: dict[str, Any] = {"id": 7, "is_bot": False, "first_name": "Ada", "last_name": "L."}
BOT: dict[str, Any] = {"id": 99, "is_bot": True, "first_name": "Claw"}
PRIVATE: dict[str, Any] = {"id": 7, "type": "private", "first_name": "Ada"}
GROUP: dict[str, Any] = {"id": -100, "type": "supergroup", "title": "Birds"}


def said(text: str, *marks: tuple[str, str], **more: Any) -> dict[str, Any]:
    """A message in the group; each mark is an entity's type and the part of the text that it covers."""
    entities = [
        {"type": kind, "offset": units(text[: text.index(part)]), "length": units(part)} for kind, part in marks
    ]
    message = {"message_id": 5, "date": 1_700_000_000, "chat": GROUP, "from": ADA, "text": text, "entities": entities}
    return message | more


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def update(**content: Any) -> Update:
    return Update.de_json({"update_id": 1, **content}, None)


def heard(message: dict[str, Any]) -> str | None:
    """The text that the bot is given, None when the message is not for it."""
    found = understood(update(message=message), ME, 3.0)
    if found is None:
        return None
    assert isinstance(found[0], Message)
    return found[0].text


def test_a_private_message_is_for_the_bot() -> None:
    found = understood(update(message=said("hi", chat=PRIVATE)), ME, 3.0)
    assert found
    message, place = found
    assert isinstance(message, Message)
    assert (message.id, message.text, message.author) == ("7:5", "hi", Person(7, "Ada L."))
    assert (message.received_at, message.sent_at) == (3.0, 1_700_000_000.0)
    assert (message.conversation.key, message.conversation.private) == ("telegram:7:0", True)
    assert place == Place(7, 0, 5)


def test_talk_in_a_group_is_not_for_the_bot() -> None:
    assert heard(said("what a bird")) is None


@pytest.mark.parametrize("mention", ["@claw_bot", "@Claw_Bot"])
def test_a_mention_is_for_the_bot_and_taken_out(mention: str) -> None:
    """Entities count UTF-16 units: the emoji before the mention has two."""
    assert heard(said(f"😀 {mention} what bird?", ("mention", mention))) == "😀  what bird?"


def test_a_mention_alone_still_says_something() -> None:
    assert heard(said("@claw_bot", ("mention", "@claw_bot"))) == "@claw_bot"


def test_a_mention_of_another_is_not_for_the_bot() -> None:
    assert heard(said("@claw_bot_2 hi", ("mention", "@claw_bot_2"))) is None


def test_a_mention_by_link_is_for_the_bot() -> None:
    mark = {"type": "text_mention", "offset": 0, "length": 4, "user": BOT}
    assert heard(said("Claw what bird?", entities=[mark])) == "what bird?"


def test_a_reply_to_the_bot_is_for_the_bot() -> None:
    mine = said("I am here", **{"from": BOT})
    assert heard(said("and you?", reply_to_message=mine)) == "and you?"


def test_a_reply_to_a_person_is_not() -> None:
    assert heard(said("and you?", reply_to_message=said("hi"))) is None


def test_writing_in_a_topic_that_the_bot_opened_is_no_reply_to_it() -> None:
    opened = said("", **{"from": BOT}) | {"forum_topic_created": {"name": "Birds", "icon_color": 1}}
    assert heard(said("what a bird", reply_to_message=opened, message_thread_id=3, is_topic_message=True)) is None


@pytest.mark.parametrize(
    ("text", "command", "given"),
    [
        ("/latency 24h", "/latency", "/latency 24h"),
        ("/latency@claw_bot 24h", "/latency@claw_bot", "/latency 24h"),
        ("/latency@Claw_Bot", "/latency@Claw_Bot", "/latency"),
        ("/latency@other_bot", "/latency@other_bot", None),
        ("/start", "/start", "/help"),
        ("try /new some day", "/new", None),
    ],
)
def test_commands_are_for_the_bot_unless_they_name_another(text: str, command: str, given: str | None) -> None:
    assert heard(said(text, ("bot_command", command))) == given


@pytest.mark.parametrize(
    "message",
    [
        said("hi", chat=PRIVATE, **{"from": {**ADA, "is_bot": True}}),
        said("", chat=PRIVATE),
        said("", chat=PRIVATE, new_chat_title="Birds"),
    ],
    ids=["from a bot", "without anything", "what Telegram says"],
)
def test_some_private_messages_are_not_questions(message: dict[str, Any]) -> None:
    assert heard(message) is None


def test_a_caption_is_a_text() -> None:
    picture = said("", chat=PRIVATE, photo=[{"file_id": "p", "file_unique_id": "p", "width": 1, "height": 1}])
    assert heard(picture | {"text": None, "caption": "what bird?"}) == "what bird?"


def test_a_topic_is_a_conversation_of_its_own() -> None:
    found = understood(
        update(message=said("/new", ("bot_command", "/new"), message_thread_id=3, is_topic_message=True)), ME, 3.0
    )
    assert found
    assert isinstance(found[0], Message)
    assert (found[0].conversation.key, found[1]) == ("telegram:-100:3", Place(-100, 3, 5))


@pytest.mark.parametrize(
    "thread",
    [{"message_thread_id": 3}, {"message_thread_id": 1, "is_topic_message": True}],
    ids=["replies in an ordinary group", "General"],
)
def test_some_threads_are_no_topics(thread: dict[str, Any]) -> None:
    """Messages carry their numbers, but sending to them is refused."""
    found = understood(update(message=said("/new", ("bot_command", "/new"), **thread)), ME, 3.0)
    assert found
    assert found[1] == Place(-100, 0, 5)


def test_an_edit_carries_the_new_text_and_the_old_id() -> None:
    edited = said("what bird?", chat=PRIVATE, edit_date=1_700_000_060)
    found = understood(update(edited_message=edited), ME, 3.0)
    assert found
    assert isinstance(found[0], Edited)
    message = found[0].message
    assert (message.id, message.text, message.sent_at) == ("7:5", "what bird?", 1_700_000_060.0)
    assert message.version == "1", "the number of the update, which is the same when it is delivered again"


def keyboard(*controls: str) -> dict[str, Any]:
    return {"inline_keyboard": [[{"text": control, "callback_data": control} for control in controls]]}


def press(control: str, **shown: Any) -> Update:
    message = {"message_id": 6, "date": 1_700_000_000, "chat": GROUP, "from": BOT, "text": "He", **shown}
    query = {"id": "1", "from": ADA, "chat_instance": "1", "data": control, "message": message}
    return update(callback_query=query)


@pytest.mark.parametrize(
    ("control", "shown"),
    [("stop", {"reply_markup": keyboard("stop")}), ("continue", {"date": 0})],
    ids=["shown", "too old to be seen"],
)
def test_a_press_names_control_and_post(control: str, shown: dict[str, Any]) -> None:
    found = understood(press(control, **shown), ME, 3.0)
    assert found
    assert isinstance(found[0], Pressed)
    assert (found[0].control, found[0].post, found[0].by.id) == (control, "6", 7)


@pytest.mark.parametrize(
    "shown",
    [{}, {"reply_markup": keyboard("regenerate")}, {"date": 0}],
    ids=["without buttons", "with another one", "too old to be growing"],
)
def test_a_press_of_a_button_that_is_not_there_is_forged(shown: dict[str, Any]) -> None:
    """Telegram hands on whatever a client sends: a notice, or an answer that is long over, would be withdrawn."""
    assert understood(press("stop", **shown), ME, 3.0) is None


def test_an_account_without_a_name_has_an_empty_one() -> None:
    """A deleted one, whose message is replied to; no text may be missing, or the question could not be kept."""
    nobody = {"id": 8, "is_bot": False, "first_name": ""}
    deleted = said("gone", chat=PRIVATE) | {"from": nobody}
    found = understood(update(message=said("why?", chat=PRIVATE, reply_to_message=deleted) | {"from": nobody}), ME, 3.0)
    assert found
    assert isinstance(found[0], Message)
    assert found[0].author == Person(8, "")
    assert found[0].quoted == Quoted("", "gone")


def test_a_stopped_draft_names_the_reply_to_its_question() -> None:
    stopped = {"chat": PRIVATE, "draft_id": 5, "message_thread_id": 3}
    found = understood(update(stopped_message_generation=stopped), ME, 3.0)
    assert found
    assert isinstance(found[0], Pressed)
    assert (found[0].control, found[0].post, found[0].by) == ("stop", "7/3/5", Person(7, "Ada"))
    assert found[1] == Place(7, 3, 5)


@pytest.mark.parametrize(
    "content",
    [
        {"channel_post": said("news")},
        {"my_chat_member_of_the_future": {}},
        {"callback_query": {"id": "1", "from": ADA, "chat_instance": "1", "inline_message_id": "x"}},
    ],
    ids=["a channel's post", "something unknown", "a press elsewhere"],
)
def test_other_updates_are_passed_over(content: dict[str, Any]) -> None:
    assert understood(update(**content), ME, 3.0) is None
