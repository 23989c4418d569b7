"""Tables of the notices to operators: how often is told, and the webhooks that are called."""

from __future__ import annotations

import ipaddress
from datetime import timedelta
from pathlib import Path
from typing import Final, Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator

from syncer.admin.auth import Trust
from syncer.config.durations import Duration
from syncer.config.group_keys import private_text
from syncer.config.tables import Section
from syncer.errors import ConfigError
from syncer.local_files import read
from syncer.notices.endpoint import WebhookEndpoint
from syncer.notices.rules import NoticeKind, NoticeTerms
from syncer.notices.signing import secrets_of
from syncer.notices.template import MAX_CHARS, checked

MAX_WEBHOOKS: Final = 16
LOG: Final = "log"
"""The receiver that is the daemon's own log; no webhook can have its name."""


class SecretUrl(SecretStr):
    """An address whose path lets in whoever knows it, as chat systems have them: only its host is ever shown."""

    @property
    def place(self) -> str:
        """Scheme, host and port."""
        parts = urlsplit(self.get_secret_value())
        return f"{parts.scheme}://{parts.netloc}"


class NotifyConfig(Section):
    """Notices to operators by the active daemon: of each kind one for many paths, a reminder, and when it is over."""

    log: bool = Field(default=True, description="Write each notice into the daemon's log too ('notice').")
    interval: Duration = Field(
        default=timedelta(minutes=1),
        ge=timedelta(seconds=1),
        description="A receiver is told of a kind at most once in so long.",
    )
    reminder: Duration = Field(
        default=timedelta(hours=24),
        ge=timedelta(minutes=1),
        description="What lasts is told again after so long.",
    )
    divergence_after: Duration = Field(
        default=timedelta(minutes=10),
        ge=timedelta(0),
        description="A region whose digest tree differs for longer than this is told of.",
    )

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.reminder < self.interval:
            raise ValueError("'reminder' is shorter than 'interval'")
        return self

    @property
    def terms(self) -> NoticeTerms:
        """As the rules have them."""
        one = timedelta(milliseconds=1)
        return NoticeTerms(interval_ms=self.interval // one, reminder_ms=self.reminder // one)


class WebhookConfig(Section):
    """A webhook that is told of what waits for an operator, signed by the Standard Webhooks specification.

    An address that is a secret itself, as those of chat systems are, is given like every secret: by a credential file
    named ``webhook.NAME.url``, or by the environment.
    """

    url: SecretUrl = Field(
        description="Where notices are posted: https. Without TLS to this machine only, or with 'plain_http'.",
        examples=["https://hooks.example/pulsar-syncer"],
    )
    secret_file: Path | None = Field(
        default=None,
        description="File with the secret that signs, readable by the daemon alone: 'whsec_' and base64 of 24 to 64 "
        "bytes; while it is rotated a second one on a line of its own. Nothing is signed when not given.",
        examples=["/run/credentials/pulsar-syncer.service/credentials_webhook-secret"],
    )
    kinds: tuple[NoticeKind, ...] = Field(default=tuple(NoticeKind), min_length=1, description="What it is told of.")
    template: str | None = Field(
        default=None,
        description="Body instead of the product's own document: JSON with names in its strings.",
        examples=['{"text": "$text"}'],
    )
    template_file: Path | None = Field(default=None, description="File that holds the template.")
    content_type: str = Field(
        default="application/json", pattern=r"^[\w.+-]+/[\w.+-]+(; ?charset=utf-8)?$", description="Of the body."
    )
    timeout: Duration = Field(
        default=timedelta(seconds=20),
        gt=timedelta(0),
        le=timedelta(minutes=1),
        description="For a whole call, from looking up the host to the answer.",
    )
    ca_file: Path | None = Field(default=None, description="Certificates to trust; the system's when not given.")
    proxy: SecretUrl | None = Field(
        default=None,
        description="HTTP proxy that is gone through; those of the environment are not used.",
        examples=["http://proxy.example:3128"],
    )
    plain_http: bool = Field(
        default=False, description="Allow an address without TLS on another machine: whoever is between reads all."
    )

    @field_validator("url", "proxy")
    @classmethod
    def _sound(cls, url: SecretUrl | None) -> SecretUrl | None:
        if url is None:
            return None
        try:
            parts = urlsplit(url.get_secret_value())
            sound = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        except ValueError:
            sound = False
        if not sound or not url.get_secret_value().isprintable() or " " in url.get_secret_value():
            raise ValueError("it is no address: write it as 'https://HOST/PATH'")
        if parts.username is not None or parts.fragment:
            raise ValueError("it may have neither a user nor a fragment ('#')")
        return url

    @model_validator(mode="after")
    def _private(self) -> Self:
        parts = urlsplit(self.url.get_secret_value())
        if parts.scheme == "http" and not self.plain_http and not _is_loopback(parts.hostname or ""):
            raise ValueError("'url' is without TLS: write https, or allow it by 'plain_http = true'")
        return self

    @model_validator(mode="after")
    def _one_template(self) -> Self:
        if self.template is not None and self.template_file is not None:
            raise ValueError("'template' and 'template_file' exclude each other")
        if self.template is not None:
            try:
                checked(self.template)
            except ConfigError as exc:
                raise ValueError(f"{exc.message}. {exc.hint}") from exc
        return self

    def secrets(self) -> tuple[bytes, ...]:
        """What signs; nothing where no file is named.

        Raises:
            ConfigError: The file cannot be used; nothing of what it holds is shown.
        """
        if self.secret_file is None:
            return ()
        try:
            return secrets_of(private_text(self.secret_file).decode("ascii", "replace"))
        except ConfigError as exc:
            raise ConfigError(f"{self.secret_file} {exc.message}", hint=exc.hint) from None

    def endpoint(self) -> WebhookEndpoint:
        """The webhook as it is called; its files are read anew each time, so that a new secret needs no restart.

        Raises:
            ConfigError: A file cannot be used; nothing of what it holds is shown.
        """
        return WebhookEndpoint(
            url=self.url.get_secret_value(),
            place=self.url.place,
            trust=Trust(certificates=self.ca_file).context(None),
            secrets=self.secrets(),
            content_type=self.content_type,
            timeout_s=self.timeout.total_seconds(),
            proxy=self.proxy.get_secret_value() if self.proxy is not None else "",
        )

    def body_template(self) -> str | None:
        """The template, checked; ``None``: the body is the product's own document.

        Raises:
            ConfigError: Its file cannot be read, or holds none.
        """
        if self.template_file is None:
            return self.template
        try:
            text = read(self.template_file, 4 * MAX_CHARS).decode()
        except (OSError, UnicodeDecodeError) as exc:
            raise ConfigError(f"the template {self.template_file} cannot be read: {exc}") from exc
        try:
            return checked(text)
        except ConfigError as exc:
            raise ConfigError(f"{self.template_file}: {exc.message}", hint=exc.hint) from exc


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
