"""Validators: the application's functions that accept, reject or ignore messages before delivery and relaying."""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable

from gossamer.live.api.messages import Message
from gossamer.live.api.topics import LiveTopic, LiveTopics, Verdict
from gossamer.live.transport.limited_log import LimitedLog
from gossamer.model.values.errors import NotAllowed
from gossamer.protocols.contract.actions import Validate
from gossamer.protocols.contract.events import Outcome

# Chosen: while this many messages wait for validators, the node pauses reading; at half of it, reading resumes.
WAITING_MAX = 1_024


class Validation:
    """Calls validators, functions and coroutine functions, and reports their outcomes."""

    def __init__(
        self,
        topics: LiveTopics,
        report: Callable[[int, Outcome], None],
        pause_reading: Callable[[str], None],
        resume_reading: Callable[[str], None],
        unseal: Callable[[Validate], bytes] | None,
        monotonic: Callable[[], float],
    ) -> None:
        # Messages that were not accepted, by reason.
        self.counts: Counter[str] = Counter()
        self._topics = topics
        self._report = report
        self._pause_reading = pause_reading
        self._resume_reading = resume_reading
        # From a message to its content, where payloads are in envelopes.
        self._unseal = unseal
        self._log = LimitedLog(monotonic)
        self._waiting = 0
        self._tasks: set[asyncio.Task[None]] = set()

    def request(self, action: Validate) -> None:
        """Validate a message in the next turn of the loop: the machine is still handling another event."""
        self._waiting += 1
        if self._waiting == WAITING_MAX:
            self._pause_reading("validators")
        asyncio.get_running_loop().call_soon(self._validate, action)

    def stop(self) -> None:
        """Cancel the validators that have not answered."""
        for task in self._tasks:
            task.cancel()

    async def judge(self, topic: LiveTopic, message: Message) -> Outcome:
        """The verdict on one of this node's own messages; raises NotAllowed if the validator fails."""
        assert topic.validator is not None
        try:
            verdict = topic.validator(message)
            outcome = _outcome(await verdict if isinstance(verdict, Awaitable) else verdict)
        except Exception as error:
            raise NotAllowed(
                f"the validator of {topic.name!r} failed ({type(error).__name__}: {error}); the message was not published"
            ) from error
        if outcome is not Outcome.ACCEPT:
            self.counts[f"own message, validator: {outcome.name.lower()}"] += 1
        return outcome

    def _validate(self, action: Validate) -> None:
        topic = self._topics.by_id.get(action.topic)
        try:
            content = action.payload if self._unseal is None else self._unseal(action)
        except ValueError:
            self._settle(action.ticket, Outcome.REJECT)
            return
        if topic is None or len(content) > topic.payload_bytes:
            self._settle(action.ticket, Outcome.REJECT)
            return
        if topic.validator is None:
            self._settle(action.ticket, Outcome.ACCEPT)
            return
        publisher = f"{action.publisher:016x}"
        message = Message(topic.name, content, publisher, action.sequence, 0, action.published_us / 1e6)
        try:
            verdict = topic.validator(message)
        except Exception:
            self._on_failed(topic.name)
            verdict = Outcome.IGNORE
        if isinstance(verdict, Awaitable):
            task = asyncio.ensure_future(self._await_verdict(action.ticket, topic.name, verdict))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            self._settle(action.ticket, _outcome(verdict))

    async def _await_verdict(self, ticket: int, topic: str, verdict: Awaitable[Verdict]) -> None:
        try:
            outcome = _outcome(await verdict)
        except Exception:
            self._on_failed(topic)
            outcome = Outcome.IGNORE
        self._settle(ticket, outcome)

    def _on_failed(self, topic: str) -> None:
        sentence = f"the validator of {topic} failed; the message is ignored"
        self._log.add(sentence, sentence, level=logging.ERROR, trace=True)

    def _settle(self, ticket: int, outcome: Outcome) -> None:
        self._waiting -= 1
        if self._waiting == WAITING_MAX // 2:
            self._resume_reading("validators")
        if outcome is not Outcome.ACCEPT:
            self.counts[f"validator: {outcome.name.lower()}"] += 1
        self._report(ticket, outcome)


def _outcome(verdict: Verdict) -> Outcome:
    if verdict is None or verdict is True:
        return Outcome.ACCEPT
    return Outcome.REJECT if verdict is False else Outcome(verdict)
