"""Generation of the typed client's calls: a module for each noun of the description, a method for each operation.

The documents of answers are those of :mod:`syncer.documents`, from which the description was made; a body is taken
apart into its fields. A route whose answer is no JSON document (a stream of events, a file) has no call.
"""

from __future__ import annotations

import importlib
import inspect
import json
import keyword
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

import syncer.documents

REPOSITORY: Final = Path(__file__).resolve().parents[2]
DESCRIPTION: Final = REPOSITORY / "docs" / "reference" / "openapi.json"
CALLS: Final = REPOSITORY / "syncer" / "client" / "calls"
PREFIX: Final = "/api/v1/"
JSON: Final = "application/json"
_REF: Final = "#/components/schemas/"
_SIMPLE: Final = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
_WRITTEN: Final = "Written by 'make client' from docs/reference/openapi.json: not to be changed by hand."


@dataclass(frozen=True)
class CallParameter:
    """A parameter of a call.

    Args:
        name: In Python.
        sent: Its name as it is sent.
        place: ``path``, ``query``, ``header``, ``body``, or ``content`` of a file.
        type: Annotation.
        required: Whether the daemon has no default for it.
        words: What it is.
    """

    name: str
    sent: str
    place: str
    type: str
    required: bool
    words: str

    @property
    def signed(self) -> str:
        """In a signature."""
        if self.required:
            return f"{self.name}: {self.type}"
        return f"{self.name}: {self.type.removesuffix(' | None')} | None = None"


@dataclass(frozen=True)
class DescribedCall:
    """An operation of the description that has a call.

    Args:
        noun: Its tag.
        name: Of the method.
        method: Of HTTP.
        path: Template.
        model: Document of its answer; empty: a plain object.
        words: What it does.
        parameters: In order: of the path, of the query, of headers, of the body.
    """

    noun: str
    name: str
    method: str
    path: str
    model: str
    words: str
    parameters: tuple[CallParameter, ...]


def committed_description() -> dict[str, Any]:
    """The description as it is committed."""
    found: dict[str, Any] = json.loads(DESCRIPTION.read_text(encoding="utf-8"))
    return found


@cache
def documents() -> Mapping[str, str]:
    """The module of each document, by the document's name."""
    found: dict[str, str] = {}
    for info in pkgutil.walk_packages(syncer.documents.__path__, f"{syncer.documents.__name__}."):
        module = importlib.import_module(info.name)
        for name, each in inspect.getmembers(module, inspect.isclass):
            if issubclass(each, BaseModel) and each.__module__ == module.__name__:
                found[name] = module.__name__
    return found


def calls(description: Mapping[str, Any]) -> Iterator[DescribedCall]:
    """Every operation that has a call, by path and method.

    Raises:
        ValueError: A document of an answer is not in :mod:`syncer.documents`.
    """
    schemas: Mapping[str, Any] = description["components"]["schemas"]
    for path, methods in description["paths"].items():
        for method, route in methods.items():
            if not path.startswith(PREFIX) or (answer := _answer(route)) is None:
                continue
            yield DescribedCall(
                noun=route["tags"][0],
                name=_name(route["operationId"], path, method),
                method=method.upper(),
                path=path,
                model=_model(answer, path),
                words=route["description"].strip().splitlines()[0],
                parameters=_told_apart(list(_parameters(route, schemas))),
            )


def _answer(route: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The schema of what a route answers; ``None``: no JSON."""
    for status, answer in sorted(route["responses"].items()):
        if status.startswith("2"):
            schema: Mapping[str, Any] | None = answer.get("content", {}).get(JSON, {}).get("schema")
            if schema:
                return schema
    return None


def _model(schema: Mapping[str, Any], path: str) -> str:
    if "$ref" not in schema:
        return ""
    name = str(schema["$ref"]).removeprefix(_REF)
    if name not in documents():
        raise ValueError(f"{path} answers with {name}, which is no document of syncer.documents")
    return name


def _name(operation: str, path: str, method: str) -> str:
    """The route function's own name: what FastAPI has put behind it is taken away."""
    name = operation.removesuffix("_" + method).removesuffix(re.sub(r"\W", "_", path))
    return f"{name}_" if keyword.iskeyword(name) else name


def _parameters(route: Mapping[str, Any], schemas: Mapping[str, Any]) -> Iterator[CallParameter]:
    order = ("path", "query", "header")
    for each in sorted(route.get("parameters", ()), key=lambda each: order.index(each["in"])):
        yield _parameter(
            each["name"], each["in"], each["schema"], schemas, required=each.get("required", False), words=each
        )
    for media, content in route.get("requestBody", {}).get("content", {}).items():
        if "$ref" in content["schema"]:
            yield from _fields(schemas[content["schema"]["$ref"].removeprefix(_REF)], schemas)
        else:  # a file
            body = route["requestBody"]
            yield CallParameter(
                name="content",
                sent=media,
                place="content",
                type="bytes" if body.get("required") else "bytes | None",
                required=body.get("required", False),
                words=body["description"],
            )


def _fields(model: Mapping[str, Any], schemas: Mapping[str, Any]) -> Iterator[CallParameter]:
    """What a body of JSON has."""
    wanted = model.get("required", ())
    for name, schema in sorted(model["properties"].items(), key=lambda item: item[0] not in wanted):
        yield _parameter(name, "body", schema, schemas, required=name in wanted, words=schema)


def _told_apart(found: list[CallParameter]) -> tuple[CallParameter, ...]:
    """The same, where a part of the path has the name of something else."""
    others = {each.name for each in found if each.place != "path"}
    return tuple(
        replace(each, name=f"of_{each.name}") if each.place == "path" and each.name in others else each
        for each in found
    )


def _parameter(
    sent: str,
    place: str,
    schema: Mapping[str, Any],
    schemas: Mapping[str, Any],
    *,
    required: bool,
    words: Mapping[str, Any],
) -> CallParameter:
    name = re.sub(r"\W", "_", sent).lower()
    return CallParameter(
        name=f"{name}_" if keyword.iskeyword(name) else name,
        sent=sent,
        place=place,
        type=_annotation(schema, schemas),
        required=required,
        words=str(words.get("description") or schema.get("description") or f"The {sent}."),
    )


def _annotation(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> str:
    """A schema as an annotation; what has no simple one is an object."""
    if "$ref" in schema:
        return _annotation(schemas[schema["$ref"].removeprefix(_REF)], schemas)
    if "enum" in schema:
        return f"Literal[{', '.join(json.dumps(each) for each in schema['enum'])}]"
    if "const" in schema:
        return f"Literal[{json.dumps(schema['const'])}]"
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(_annotation(each, schemas) for each in schema["anyOf"]))
    match schema.get("type"):
        case "null":
            return "None"
        case "array":
            return f"Sequence[{_annotation(schema.get('items', {}), schemas)}]"
        case "object":
            return "Mapping[str, object]"
        case kind:
            return _SIMPLE.get(str(kind), "object")


def modules(description: Mapping[str, Any]) -> dict[str, str]:
    """The modules of the calls, by the names of their files."""
    by_noun: dict[str, list[DescribedCall]] = {}
    for each in calls(description):
        by_noun.setdefault(each.noun, []).append(each)
    made = {f"{_module(noun)}.py": _noun(noun, some) for noun, some in sorted(by_noun.items())}
    made["__init__.py"] = _whole(sorted(by_noun))
    return {name: _formatted(text) for name, text in made.items()}


def _module(noun: str) -> str:
    return re.sub(r"\W", "_", noun)


def _class(noun: str) -> str:
    return "".join(word.capitalize() for word in re.split(r"\W", noun)) + "Calls"


def _noun(noun: str, some: list[DescribedCall]) -> str:
    models = sorted({each.model for each in some if each.model})
    methods = "\n".join(_method(each) for each in some)
    used = [name for name in ("Mapping", "Sequence") if f"{name}[" in methods]
    lines = [
        f'"""Calls of the REST API about {noun}.\n\n{_WRITTEN}\n"""',
        "",
        "from __future__ import annotations",
        "",
    ]
    if used:
        lines.append(f"from collections.abc import {', '.join(used)}")
    if "Literal[" in methods:
        lines.append("from typing import Literal")
    path = ", in_path" if "in_path(" in methods else ""
    ours = [f"from syncer.client.contract import ApiAnswer, ApiCalls, ApiRequest{path}"]
    ours += [
        f"from {module} import {', '.join(each for each in models if documents()[each] == module)}"
        for module in sorted({documents()[each] for each in models})
    ]
    lines += ["", *ours, "", f"class {_class(noun)}(ApiCalls):", f'    """Calls about {noun}."""', "", methods]
    return "\n".join(lines)


def _method(call: DescribedCall) -> str:
    given = [each.signed for each in call.parameters if each.place == "path"]
    named = sorted((each for each in call.parameters if each.place != "path"), key=lambda each: not each.required)
    signature = ", ".join(["self", *given, *(["*", *(each.signed for each in named)] if named else [])])
    model = call.model or "dict[str, object]"
    lines = [f"    def {call.name}({signature}) -> ApiAnswer[{model}]:", f'        """{call.words}']
    described = [each for each in call.parameters if each.place == "path"] + named
    if described:
        lines += ["", "        Args:"]
    lines += [f"            {each.name}: {_sentence(each.words)}" for each in described]
    lines += ["", "        Raises:", "            SyncerError: The daemon's own, or why it gave no answer."]
    lines.append('        """')
    fields = [f"method={call.method!r}", f"path={_path(call)}"]
    for place, field in (("query", "query"), ("header", "headers")):
        of = [each for each in call.parameters if each.place == place]
        if of:
            fields.append(f"{field}={{{', '.join(f'{each.sent!r}: {each.name}' for each in of)}}}")
    body = [each for each in call.parameters if each.place == "body"]
    if body:
        inside = ", ".join(f"{each.sent!r}: {each.name}" for each in body if each.required)
        more = [each for each in body if not each.required]
        chosen = ", ".join(f"{each.sent!r}: {each.name}" for each in more)
        extra = f"**{{name: value for name, value in {{{chosen}}}.items() if value is not None}}" if more else ""
        fields.append(f"body={{{', '.join(filter(None, (inside, extra)))}}}")
    fields += [f"content={each.name}, media={each.sent!r}" for each in call.parameters if each.place == "content"]
    request = f"ApiRequest({', '.join(fields)})"
    lines.append(
        f"        return self._document({call.model}, {request})"
        if call.model
        else f"        return self._plain({request})"
    )
    return "\n".join([*lines, ""])


def _sentence(words: str) -> str:
    text = " ".join(words.split())
    return text if text.endswith(".") else f"{text}."


def _path(call: DescribedCall) -> str:
    names = {each.sent: each.name for each in call.parameters if each.place == "path"}
    text = re.sub(r"\{(\w+)\}", lambda found: f"{{in_path({names[found[1]]})}}", call.path)
    return f'f"{text}"' if names else f'"{text}"'


def _whole(nouns: list[str]) -> str:
    imports = "\n".join(f"from syncer.client.calls.{_module(noun)} import {_class(noun)}" for noun in nouns)
    fields = "\n".join(f"        self.{_module(noun)} = {_class(noun)}(transport)" for noun in nouns)
    return f'''"""All calls of a daemon's REST API, by noun.

{_WRITTEN}
"""

from __future__ import annotations

{imports}
from syncer.client.contract import Transport


class RegionCalls:
    """The REST API of one region's daemon.

    Args:
        transport: Carries its requests.
    """

    def __init__(self, transport: Transport) -> None:
{fields}
'''


def _formatted(text: str) -> str:
    """The text as the formatter leaves it, imports in order."""
    for command in (["check", "--fix-only", "--select", "I", "--quiet"], ["format", "--quiet"]):
        text = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(CALLS / "made.py"), "-"],
            input=text,
            capture_output=True,
            text=True,
            check=True,
            cwd=REPOSITORY,
        ).stdout
    return text
