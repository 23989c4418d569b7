"""All clients of some topics, in a process of their own: whatever happens to them, it can be ended."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterable
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from pulsar.exceptions import PulsarException

from deploy.lab.process import ServerFailed
from deploy.lab.traffic.account import TrafficAccount
from deploy.lab.traffic.clients import Clients
from deploy.lab.traffic.loads import TopicLoad
from deploy.lab.traffic.outages import ClientOutage, connections_broken, outages
from syncer.waiting import WAIT_S

_END_S: Final = 15.0


class ClusterTraffic:
    """Publishers and consumers of some topics; used as a context manager.

    Attributes:
        publishers: How many publish.
        consumers: How many consume.

    Args:
        service_url: Of the cluster at which all of them begin.
        loads: Who does what; the topics are there.
        directory: For logs of the publishers in Java.
        trust: Certificates that brokers are trusted by, where the service URL is one of TLS.
        log: Where the clients write down what they do, for :meth:`outages`; ``None``: nowhere.
    """

    def __init__(
        self,
        service_url: str,
        loads: Iterable[TopicLoad],
        directory: Path,
        *,
        trust: Path | None = None,
        log: Path | None = None,
    ) -> None:
        self._of = (service_url, tuple(loads), directory, trust, log)
        self._log = log
        self.publishers = self.consumers = 0

    def __enter__(self) -> Self:
        """Begin.

        Raises:
            ServerFailed: Not all of them could.
        """
        context = multiprocessing.get_context("spawn")
        self._there, here = context.Pipe()
        self._process = context.Process(target=_serve, args=(here, *self._of), daemon=True)
        self._process.start()
        here.close()
        try:
            self.publishers, self.consumers = self._answer(WAIT_S)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End everybody."""
        self._end()

    def attend(self) -> None:
        """The consumers come that were to come late, from the cluster at which all began."""
        self._ask("attend")

    def come_again(self) -> None:
        """One more consumer of each subscription comes, from the cluster at which all began."""
        self._ask("come_again")

    def gaps_from_now(self) -> None:
        """Forget the gaps until now."""
        self._ask("gaps_from_now")

    def account(self) -> TrafficAccount:
        """What became of all messages so far; those that are under way count as lost."""
        account: TrafficAccount = self._ask("account")
        return account

    def outages(self) -> list[ClientOutage]:
        """The outages of its clients that have ended, by their own account."""
        if self._log is None:
            return []
        with self._log.open(encoding="utf-8", errors="replace") as lines:
            return outages(lines)

    def connections_broken(self) -> list[int]:
        """When its clients gave up a whole connection, since the epoch."""
        if self._log is None:
            return []
        with self._log.open(encoding="utf-8", errors="replace") as lines:
            return connections_broken(lines)

    def settle(self, within_s: float) -> TrafficAccount:
        """Publish no more, wait until all receipts and messages have come or the time is over, and give account."""
        account: TrafficAccount = self._ask("settle", within_s, within_s=within_s)
        return account

    def _ask(self, *words: object, within_s: float = 0.0) -> Any:  # noqa: ANN401 - as the question has it
        self._there.send(words)
        return self._answer(within_s + WAIT_S)

    def _answer(self, within_s: float) -> Any:  # noqa: ANN401 - as the question has it
        if not self._there.poll(within_s):
            raise ServerFailed(f"the clients did not answer in {within_s:.0f} s")
        try:
            answer = self._there.recv()
        except EOFError as exc:
            raise ServerFailed("the clients' process has ended") from exc
        if isinstance(answer, str):
            raise ServerFailed(f"the clients failed: {answer}")
        return answer

    def _end(self) -> None:
        """Let their process end; one that does not is killed: a client may hold all of Python up."""
        self._there.close()
        self._process.join(_END_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def _serve(
    questions: Connection,
    service_url: str,
    loads: tuple[TopicLoad, ...],
    directory: Path,
    trust: Path | None,
    log: Path | None,
) -> None:
    """Answer questions until nobody asks any more; what goes wrong is answered in words."""
    clients = Clients(service_url, loads, directory, trust=trust, log=log)
    try:
        clients.begin()
        questions.send((clients.publishers, clients.consumers))
        while True:
            name, *words = questions.recv()
            questions.send(getattr(clients, name)(*words))
    except (EOFError, BrokenPipeError):
        pass  # nobody asks any more
    except (ServerFailed, PulsarException, OSError) as error:
        questions.send(repr(error))
    finally:
        clients.end()
        os._exit(0)  # what ends in order may wait for a client that waits for itself
