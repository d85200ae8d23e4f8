"""Whose a conversation is, by setting."""

from dataclasses import replace

import pytest

from clawdbot.chat import Conversation, Deleted, Edited, Event, Message, Person, Pressed, Typing, place_of
from clawdbot.people.rooms import settled

ANA = Person(7, "Ana")
TOPIC = Conversation("telegram", -5, topic=3)
PRIVATE = Conversation("telegram", 7, private=True)


def said(where: Conversation) -> Message:
    return Message("1", where, ANA, "Why?", 0.0)


def events(where: Conversation) -> list[Event]:
    return [said(where), Edited(said(where)), Typing(where, ANA)]


@pytest.mark.parametrize("event", [*events(TOPIC), Deleted(TOPIC, "1"), Pressed(TOPIC, ANA, "stop", "9")])
def test_by_default_a_place_has_one_conversation(event: Event) -> None:
    assert settled(event, "shared") == event


def test_by_setting_each_person_has_their_own() -> None:
    own = replace(TOPIC, person=ANA.id)

    assert [settled(event, "per_user") for event in events(TOPIC)] == events(own)
    assert (own.key, own.place) == ("telegram:-5:3:7", TOPIC.key)


@pytest.mark.parametrize("event", [*events(PRIVATE), Deleted(TOPIC, "1"), Pressed(TOPIC, ANA, "stop", "9")])
def test_some_events_are_nobodys(event: Event) -> None:
    """In private there is one person anyhow, and a button may be below somebody else's answer."""
    assert settled(event, "per_user") == event


@pytest.mark.parametrize("where", [TOPIC, PRIVATE, replace(TOPIC, person=7), Conversation("discord", 2**62, guild=1)])
def test_a_key_tells_its_place(where: Conversation) -> None:
    assert place_of(where.key) == where.place
