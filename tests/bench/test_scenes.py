import telegram

from clawdbot.bench.measures import Look
from clawdbot.bench.scenes import DiscordScene, Scene, TelegramScene, with_drafts
from clawdbot.testing.discord import SimDiscord
from clawdbot.testing.telegram import SimTelegram
from clawdbot.words import REST


def looks(scene: Scene) -> list[list[str]]:
    return [[look.text for look in part] for part in scene.seen(1).parts]


async def test_discord_shows_an_attached_rest_as_part_of_the_answer() -> None:
    sim = SimDiscord()
    scene = DiscordScene(sim, places=2)
    place = scene.places[1]
    scene.ask(1, "Question")
    post, _ = sim.world.create(place, {"content": "The begin"}, ())

    sim.world.change(place, post, {"content": "The beginning"}, ())
    sim.world.create(place, {"content": REST}, [("answer.md", b"and the rest")])

    assert looks(scene) == [["The begin", "The beginning"], ["\nand the rest"]]


async def test_telegram_shows_an_attached_rest_as_part_of_the_answer() -> None:
    async with SimTelegram() as sim, telegram.Bot(sim.token, base_url=f"{sim.url}/bot") as bot:
        scene = TelegramScene(sim, places=2)
        scene.ask(1, "Question")

        await bot.send_message(scene.places[1], "The beginning")
        await bot.send_document(scene.places[1], b"and the rest", filename="answer.md")

        assert looks(scene) == [["The beginning"], ["\nand the rest"]]
        assert scene.tally().by_name == {"sendMessage": 1, "sendDocument": 1}


async def test_a_draft_is_seen_as_the_message_that_it_becomes() -> None:
    """For its reader there is one text that grows."""
    async with SimTelegram() as sim, telegram.Bot(sim.token, base_url=f"{sim.url}/bot") as bot:
        scene = TelegramScene(sim, places=2, drafts=True)
        scene.ask(1, "Question")
        place = scene.places[1]

        await bot.send_message_draft(place, 1, "The begin")
        await bot.send_message_draft(place, 1, "The beginning")
        before = looks(scene)
        await bot.send_message(place, "The beginning.")

        assert before == [["The begin", "The beginning"]]
        assert looks(scene) == [["The begin", "The beginning", "The beginning."]]
        assert scene.tally().by_name == {"sendMessageDraft": 2, "sendMessage": 1}


def test_each_draft_belongs_to_the_message_that_was_posted_next() -> None:
    """Of a long answer what is full is posted, and its end goes on as a draft."""
    drafts = [Look(at, f"draft {at:g}") for at in (1.0, 2.0, 3.5, 6.0)]
    messages = [[Look(3.0, "One"), Look(4.0, "One.")], [Look(5.0, "Two.")]]

    parts = with_drafts(messages, drafts)

    assert [[look.at for look in part] for part in parts] == [[1.0, 2.0, 3.0, 4.0], [3.5, 5.0], [6.0]]
