"""Clients of Pulsar's admin API, made of the configuration: their settings, and whom to ask whether topics exist."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from syncer.admin.auth import CertificateAuth, TokenAuth, Trust
from syncer.admin.client import AdminSettings
from syncer.admin.topic_probe import StoreProbe, TopicProbe
from syncer.admin.topics import ClustersProbe
from syncer.config.model import Config
from syncer.config.tables import AdminConfig
from syncer.stores.contract import MetadataStore


@asynccontextmanager
async def topic_probe(config: Config, store: MetadataStore) -> AsyncIterator[TopicProbe]:
    """Whom to ask whether topics exist: the brokers where ``[admin]`` names one, else the store itself."""
    if config.admin is None:
        has_brokers = config.store.kind != "sqlite"
        yield StoreProbe(store, has_brokers=has_brokers, serves_one=len(config.clusters) <= 1)
        return
    async with ClustersProbe(admin_settings(config.admin), config.clusters) as probe:
        yield probe


def admin_settings(config: AdminConfig) -> AdminSettings:
    """The admin client's settings."""
    auth: TokenAuth | CertificateAuth | None = None
    if config.token_file is not None:
        auth = TokenAuth(file=config.token_file)
    elif config.cert_file is not None and config.key_file is not None:
        auth = CertificateAuth(certificate=config.cert_file, key=config.key_file)
    return AdminSettings(
        url=config.url.rstrip("/"),
        brokers=config.brokers,
        auth=auth,
        trust=Trust(certificates=config.ca_file),
        timeout=config.timeout,
    )
