"""Who a cancellation is meant for: supervisors end by their own alone."""

import asyncio


def told_to_end() -> bool:
    """Whether the running task itself was cancelled; False where only something that it waited for was."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0
