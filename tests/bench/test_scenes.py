import telegram

from clawdbot.bench.scenes import DiscordScene, Scene, TelegramScene
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
