"""Redirects of brokers: followed with method, body and token, but only to brokers of the cluster."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncer.admin.auth import TokenAuth
from syncer.admin.calls import AdminRefused
from syncer.admin.client import AdminClient, AdminSettings
from syncer.admin.redirects import MOST, Origin, broker_url, listed, target_of
from syncer.errors import AdminRedirectRefused, AdminUnreachable
from tests.support.admin_server import Asked, serving

pytestmark = pytest.mark.anyio
TOPIC = "persistent://t/n/x"
TOKEN = "the-token"
Answer = Callable[[Asked], tuple[int, str]]


@dataclass
class Broker:
    """A broker that does what it is told by path, and keeps what it was asked."""

    url: str = ""
    answers: dict[str, tuple[int, str]] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)

    def answer(self, asked: Asked) -> tuple[int, str]:
        self.asked.append(asked)
        return self.answers.get(asked.path.partition("?")[0], (404, "{}"))

    @property
    def address(self) -> str:
        return self.url.removeprefix("http://")


@pytest.fixture
def brokers() -> Iterator[tuple[Broker, Broker]]:
    """The one that is configured, and another one."""
    one, other = Broker(), Broker()
    with ExitStack() as stack:
        for broker in (one, other):
            broker.url = stack.enter_context(serving(broker.answer))
        yield one, other


@pytest.fixture
def token(tmp_path: Path) -> TokenAuth:
    file = tmp_path / "token"
    file.write_text(TOKEN)
    return TokenAuth(file=file)


def client(broker: Broker, token: TokenAuth, *named: str) -> AdminClient:
    return AdminClient(AdminSettings(url=broker.url, brokers=named, auth=token, retry_for=timedelta(0)))


STATS = "/admin/v2/persistent/t/n/x/stats"
SUBSCRIPTION = "/admin/v2/persistent/t/n/x/subscription/s"
LIST = "/admin/v2/brokers"


async def test_a_call_goes_to_the_owner_with_method_body_and_token(
    brokers: tuple[Broker, Broker], token: TokenAuth
) -> None:
    one, other = brokers
    one.answers[LIST] = (200, json.dumps([one.address, other.address]))
    one.answers[SUBSCRIPTION] = (307, f"{other.url}{SUBSCRIPTION}?authoritative=true")
    other.answers[SUBSCRIPTION] = (204, "")
    async with client(one, token) as admin:
        assert await admin.create_subscription_at_earliest(TOPIC, "s") is True
        assert await admin.create_subscription_at_earliest(TOPIC, "s") is True
    first = other.asked[0]
    assert (first.method, first.path) == ("PUT", f"{SUBSCRIPTION}?authoritative=true")
    assert json.loads(first.body) == {"ledgerId": -1, "entryId": -1, "partitionIndex": -1}
    assert [each.authorization for each in (*one.asked, *other.asked)] == [f"Bearer {TOKEN}"] * 5
    assert [each.path for each in one.asked].count(LIST) == 1, "the list is not read for each call"


async def test_an_address_that_nobody_lists_is_told_nothing(brokers: tuple[Broker, Broker], token: TokenAuth) -> None:
    one, other = brokers
    one.answers[LIST] = (200, json.dumps([one.address, "127.0.0.1:1"]))
    one.answers[STATS] = (307, f"{other.url}{STATS}")
    other.answers[LIST] = (200, json.dumps([other.address]))
    async with client(one, token) as admin:
        with pytest.raises(AdminRedirectRefused, match=r"none of the cluster's brokers") as caught:
            await admin.stats(TOPIC)
    assert other.asked == []
    assert "admin.brokers" in caught.value.hint


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_who_may_not_list_follows_to_the_brokers_of_the_configuration_alone(
    brokers: tuple[Broker, Broker], token: TokenAuth, status: int
) -> None:
    one, other = brokers
    one.answers[LIST] = (status, '{"reason":"no"}')
    one.answers[STATS] = (307, f"{other.url}{STATS}")
    other.answers[STATS] = (200, '{"here": 1}')
    async with client(one, token) as admin:
        with pytest.raises(AdminRedirectRefused, match="may not list"):
            await admin.stats(TOPIC)
        assert other.asked == []
    async with client(one, token, f"{other.url}/") as admin:
        assert await admin.stats(TOPIC) == {"here": 1}


async def test_a_list_that_cannot_be_read_now_is_asked_for_again(
    brokers: tuple[Broker, Broker], token: TokenAuth
) -> None:
    one, other = brokers
    one.answers[LIST] = (503, "starting")
    one.answers[STATS] = (307, f"{other.url}{STATS}")
    async with client(one, token) as admin:
        with pytest.raises(AdminUnreachable, match="cannot list the brokers yet"):
            await admin.stats(TOPIC)
    assert other.asked == []


async def test_a_broker_that_the_list_learns_of_a_moment_later_is_followed_to(
    brokers: tuple[Broker, Broker], token: TokenAuth
) -> None:
    one, other = brokers
    lists = iter([[one.address], [one.address, other.address]])
    plain = one.answer

    def answer(asked: Asked) -> tuple[int, str]:
        return (200, json.dumps(next(lists))) if asked.path == LIST else plain(asked)

    other.answers[STATS] = (200, '{"here": 1}')
    with serving(answer) as url:
        one.answers[STATS] = (307, f"{other.url}{STATS}")
        async with AdminClient(AdminSettings(url=url, auth=token)) as admin:
            assert await admin.stats(TOPIC) == {"here": 1}


@pytest.mark.parametrize("found", ["{}", '"x"', '[1, null, ""]', "no json", '["127.0.0.1"]', '["user@127.0.0.1:80"]'])
async def test_an_odd_list_lists_nobody(brokers: tuple[Broker, Broker], token: TokenAuth, found: str) -> None:
    one, other = brokers
    one.answers[LIST] = (200, found)
    one.answers[STATS] = (307, f"{other.url}{STATS}")
    async with client(one, token) as admin:
        with pytest.raises(AdminRedirectRefused):
            await admin.stats(TOPIC)
    assert other.asked == []


async def test_two_brokers_that_send_to_each_other_are_given_up(
    brokers: tuple[Broker, Broker], token: TokenAuth
) -> None:
    one, other = brokers
    one.answers[LIST] = (200, json.dumps([other.address]))
    one.answers[STATS] = (307, f"{other.url}{STATS}")
    other.answers[STATS] = (307, f"{one.url}{STATS}")
    async with client(one, token) as admin:
        with pytest.raises(AdminUnreachable, match="do not agree on the owner"):
            await admin.stats(TOPIC)
    asked = [each for each in (*one.asked, *other.asked) if each.path == STATS]
    assert len(asked) == MOST + 1


@pytest.mark.parametrize("status", [301, 302, 303])
async def test_what_would_change_the_method_is_an_answer_and_not_followed(
    brokers: tuple[Broker, Broker], token: TokenAuth, status: int
) -> None:
    one, other = brokers
    one.answers[SUBSCRIPTION] = (status, f"{other.url}{SUBSCRIPTION}")
    async with client(one, token, other.url) as admin:
        with pytest.raises(AdminRefused) as caught:
            await admin.create_subscription_at_earliest(TOPIC, "s")
    assert caught.value.status == status
    assert other.asked == []


@pytest.mark.parametrize(
    "location",
    ["", "ftp://b/x", "http://user:secret@b/x", "http://u@b/x", "http://a:8080@b/x", "http://b\tc/x", "http://[::1/x"],
)
def test_what_is_no_address_is_refused(location: str) -> None:
    with pytest.raises(AdminRedirectRefused):
        target_of("http://a:8080/x", location)


def test_what_began_under_tls_goes_on_under_tls() -> None:
    with pytest.raises(AdminRedirectRefused, match="without TLS") as caught:
        target_of("https://a:8443/x", "http://a:8080/x")
    assert "webServicePortTls" in caught.value.hint
    assert target_of("https://a:8443/x", "https://b:8443/y") == "https://b:8443/y"
    assert target_of("http://a:8080/x", "https://b:8443/y") == "https://b:8443/y"
    assert target_of("http://a:8080/x", "/y?z=1") == "http://a:8080/y?z=1"


async def test_one_broker_can_be_asked_and_is_not_believed_about_the_others(
    brokers: tuple[Broker, Broker], token: TokenAuth
) -> None:
    one, other = brokers
    other.answers["/admin/v2/brokers/version"] = (200, "4.0.8")
    other.answers[STATS] = (307, f"http://127.0.0.2:1{STATS}")
    other.answers[LIST] = (200, json.dumps(["127.0.0.2:1"]))
    one.answers[LIST] = (200, json.dumps([one.address, other.address]))
    async with client(one, token) as admin:
        there = admin.at(other.address)
        assert await there.version() == "4.0.8"
        assert (there.url, admin.url) == (other.url, one.url)
        with pytest.raises(AdminRedirectRefused, match="none of the cluster's brokers"):
            await there.stats(TOPIC)
    assert [asked.authorization for asked in other.asked] == [f"Bearer {TOKEN}"] * 2
    assert [asked.path for asked in one.asked] == [LIST]


def test_a_broker_is_asked_at_the_configured_scheme() -> None:
    assert broker_url("b:8080", "http://a:80") == "http://b:8080"
    assert broker_url("[::1]:8080", "http://a:80") == "http://[::1]:8080"
    assert broker_url("b:8080", "https://a:8443") == "https://b:8443"
    assert broker_url("[::1]:8080", "https://a:8443/") == "https://[::1]:8443"


def test_names_and_ports_are_compared_as_addresses_are() -> None:
    configured = Origin("https", "a", 8443)
    assert Origin.of("HTTP://B.Example") == Origin("http", "b.example", 80)
    assert listed(Origin("http", "b", 80), ["B:80"], Origin("http", "a", 8080))
    assert listed(Origin("http", "::1", 8080), ["[::1]:8080"], Origin("http", "a", 8080))
    assert listed(Origin("https", "b", 8443), ["b:8080"], configured), "the list shows the plain port"
    assert not listed(Origin("https", "b", 9443), ["b:8080"], configured)
    assert not listed(Origin("http", "b", 8443), ["b:8080"], Origin("http", "a", 8443))
    assert not listed(Origin("https", "c", 8443), ["b:8080"], configured)
    assert str(Origin("http", "::1", 80)) == "http://[::1]:80"


@given(st.text(max_size=40), st.text(max_size=40))
def test_whatever_stands_there_is_an_address_or_refused(url: str, location: str) -> None:
    try:
        target = target_of(f"http://a/{url}", location)
    except AdminRedirectRefused:
        return
    assert Origin.of(target) is not None
