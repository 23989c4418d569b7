"""etcd's messages and calls, rebuilt from the descriptors that the ``etcd3`` package carries.

The classes generated in ``etcd3`` 0.12 do not import beside protobuf 4 and later. Their serialized descriptors are
plain data, so they are read out of the package's source without importing it, and protobuf's own builder makes the
classes anew, in a pool of their own. The package is older than etcd 3.4; the fields that later servers know and the
watch needs (manual progress requests, fragments) are added here before the build.

Code that ``protoc`` generates from a ``.proto`` of our own would be easier to read, and would spare the package. It is
not done: such code refuses a protobuf older than its compiler, and may refuse one two major versions younger, so the
wheel would be bound to the compiler of the day of its build, and a check-out would not run before it was compiled.
Classes that are built from descriptors work with whichever protobuf the lock, or the host of a Spark job, has. The
price is a package carried for its data; a release of it with other files is refused by name, not misread.

Source: etcd API reference v3.5, messages WatchRequest, WatchCreateRequest, WatchResponse; Protobuf, "Cross-Version
Runtime Guarantee".
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, TypeAlias

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import Message

from syncer.errors import ConfigError

Dynamic: TypeAlias = Any
"""A message (or a field of one): its class exists at run time only."""

PACKAGE: Final = "etcdserverpb"
_FILES: Final = ("kv", "auth", "rpc")
_SERIALIZED: Final = re.compile(r"""serialized_pb=_b\(('(?:[^'\\]|\\.)*')\)""")

MOD_REVISION: Final = 2
"""``Compare.CompareTarget.MOD``; the default ``Compare.CompareResult`` is ``EQUAL``."""


@dataclass(frozen=True, slots=True)
class Method:
    """One remote call: its path on the wire and how its messages are written and read."""

    path: str
    request: type[Message]
    response: type[Message]


@dataclass(frozen=True, slots=True)
class Wire:
    """All messages by name, and all calls by ``Service.Method``."""

    messages: Mapping[str, Dynamic]
    methods: Mapping[str, Method]


@functools.cache
def load() -> Wire:
    """Build the classes; once per process, some milliseconds.

    Raises:
        ConfigError: The ``etcd3`` package is missing or is not the version whose files are known.
    """
    pool = descriptor_pool.DescriptorPool()
    protos = [_descriptor(name) for name in _FILES]
    _add_later_fields(protos[-1])
    for proto in protos:
        pool.Add(proto)
    classes = message_factory.GetMessageClassesForFiles([proto.name for proto in protos], pool)
    messages = {name.rpartition(".")[2]: cls for name, cls in classes.items()}
    methods = {}
    for service in protos[-1].service:
        for method in service.method:
            methods[f"{service.name}.{method.name}"] = Method(
                f"/{PACKAGE}.{service.name}/{method.name}",
                classes[method.input_type.lstrip(".")],
                classes[method.output_type.lstrip(".")],
            )
    return Wire(messages, methods)


def _descriptor(name: str) -> descriptor_pb2.FileDescriptorProto:
    spec = find_spec("etcd3")
    if spec is None or not spec.submodule_search_locations:
        raise ConfigError(
            "the package etcd3 is not installed", hint="Install etcd3 0.12: pip install 'etcd3>=0.12,<0.13'."
        )
    source = Path(spec.submodule_search_locations[0]) / "etcdrpc" / f"{name}_pb2.py"
    try:
        found = _SERIALIZED.search(source.read_text(encoding="utf-8"))
    except OSError as exc:
        raise ConfigError(f"the package etcd3 has no {source}", hint="Install etcd3 0.12.") from exc
    if found is None:
        raise ConfigError(f"no serialized descriptor in {source}", hint="Install etcd3 0.12.")
    text: str = ast.literal_eval(found[1])
    return descriptor_pb2.FileDescriptorProto.FromString(text.encode("latin-1"))


def _add_later_fields(rpc: descriptor_pb2.FileDescriptorProto) -> None:
    by_name = {message.name: message for message in rpc.message_type}
    field_type = descriptor_pb2.FieldDescriptorProto
    if "WatchProgressRequest" not in by_name:
        rpc.message_type.add(name="WatchProgressRequest")
    _add(
        by_name["WatchRequest"],
        name="progress_request",
        number=3,
        type=field_type.TYPE_MESSAGE,
        type_name=f".{PACKAGE}.WatchProgressRequest",
        oneof_index=0,
    )
    _add(by_name["WatchCreateRequest"], name="watch_id", number=7, type=field_type.TYPE_INT64)
    _add(by_name["WatchCreateRequest"], name="fragment", number=8, type=field_type.TYPE_BOOL)
    _add(by_name["WatchResponse"], name="fragment", number=7, type=field_type.TYPE_BOOL)


def _add(message: descriptor_pb2.DescriptorProto, *, name: str, **attributes: Dynamic) -> None:
    if all(field.name != name for field in message.field):
        message.field.add(name=name, label=descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL, **attributes)
