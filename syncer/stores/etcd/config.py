"""Configuration of the etcd store."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from syncer.connecting.hosts import host_fault


class EtcdTls(BaseModel):
    """Files (PEM) for connections by TLS."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ca_file: Path | None = Field(default=None, description="Certificates to trust; the system's when not given.")
    cert_file: Path | None = Field(default=None, description="Our own certificate, where the server asks for one.")
    key_file: Path | None = Field(default=None, description="Private key of our own certificate.")

    @model_validator(mode="after")
    def _certificate_and_key_together(self) -> EtcdTls:
        if (self.cert_file is None) != (self.key_file is None):
            raise ValueError("cert_file and key_file go together")
        return self


class EtcdConfig(BaseModel):
    """Where a region's etcd is and how to log in."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["etcd"] = "etcd"
    endpoints: tuple[str, ...] = Field(
        default=("127.0.0.1:2379",), min_length=1, description="host:port of each server."
    )
    namespace: str = Field(default="", pattern=r"^(/[^/]+)*$", description="Put before every path to make its key.")
    tls: EtcdTls | None = Field(default=None, description="Connect by TLS.")
    username: str | None = Field(default=None, min_length=1, description="User, where etcd's authentication is on.")
    password_file: Path | None = Field(default=None, description="File that holds the user's password.")
    request_timeout: timedelta = Field(
        default=timedelta(seconds=5), gt=timedelta(0), description="Deadline of one call."
    )
    max_value_bytes: int = Field(
        default=1024 * 1024,
        ge=1024,
        le=8 * 1024 * 1024,
        description="Largest value; must stay below the server's --max-request-bytes (1.5 MiB by default).",
    )

    @field_validator("endpoints")
    @classmethod
    def _host_and_port(cls, endpoints: tuple[str, ...]) -> tuple[str, ...]:
        for endpoint in endpoints:
            if "://" in endpoint and "@" not in endpoint:
                raise ValueError(f"{endpoint!r} is not host:port: leave out the scheme; TLS is switched on by 'tls'")
            if fault := host_fault(endpoint, needs_port=True):
                raise ValueError(f"it is not host:port: {fault}")
        return endpoints

    @model_validator(mode="after")
    def _user_and_password_together(self) -> EtcdConfig:
        if (self.username is None) != (self.password_file is None):
            raise ValueError("username and password_file go together")
        return self
