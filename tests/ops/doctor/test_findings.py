"""How checks are made and told."""

from clawdbot.ops.doctor.finding import Check, Finding, Level, check, examine, fail, ok, warn

SECRET = "123456:a-token-that-nobody-may-see"


async def test_findings_are_told_in_the_order_of_the_checks() -> None:
    shown: list[Finding] = []
    checks = [check("one", lambda about: ok(about, "Well.")), check("two", lambda about: warn(about, "Hm.", "Look."))]

    findings = await examine(checks, shown.append)
    assert findings == shown == [ok("one", "Well."), warn("two", "Hm.", "Look.")]


async def test_a_check_that_breaks_down_is_a_failure_and_the_others_go_on() -> None:
    """Its own words may hold anything, so they are not repeated."""

    async def breaks() -> Finding:
        raise KeyError(SECRET)

    checks = [Check("broken", breaks), check("whole", lambda about: ok(about, "Well."))]

    broken, whole = await examine(checks, lambda finding: None)
    assert (broken.level, whole.level) == (Level.FAIL, Level.OK)
    assert "KeyError in test_findings.py, line" in broken.text
    assert SECRET not in broken.line


def test_a_finding_is_one_line() -> None:
    assert fail("disk", "Full.\nIt is.", "Make room.").line == "fail  disk: Full. It is. Make room."
    assert ok("disk", "Empty.").line == "ok    disk: Empty."


def test_a_finding_is_data() -> None:
    assert warn("disk", "Full.", "Make room.").to_map() == {
        "level": "warn",
        "about": "disk",
        "text": "Full.",
        "remedy": "Make room.",
    }
