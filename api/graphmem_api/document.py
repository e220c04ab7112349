"""The OpenAPI document, exact: Litestar describes the routes, msgspec the structs, recordings the answers."""

import ast
import inspect
import json
import re
import sys
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from itertools import pairwise
from typing import Any

import msgspec
from litestar.openapi import OpenAPIConfig
from litestar.openapi.spec import OpenAPI, Schema
from litestar.plugins import OpenAPISchemaPlugin
from litestar.serialization import default_serializer, encode_json
from litestar.typing import FieldDefinition
from msgspec import Struct

from graphmem_api.roles import told_role

RECORDED = "answers.json"
"""Answers of a running graphmem, by operation and status: `make answers` writes them, a test compares."""

REFERENCE = "#/components/schemas/"
NAMED = re.compile(rf"{REFERENCE}([\w.-]+)")

Described = dict[str, Any]


class Structs(OpenAPISchemaPlugin):
    """Collects the structs of requests and answers; msgspec describes them."""

    def __init__(self) -> None:
        self._found: dict[str, type[Struct]] = {}

    def is_plugin_supported_field(self, field_definition: FieldDefinition) -> bool:
        """Return whether a type is a struct."""
        return not field_definition.is_union and field_definition.is_subclass_of(Struct)

    def to_openapi_schema(self, field_definition: FieldDefinition, schema_creator: Any) -> Schema:
        """Return the place of a struct among the components; its properties come from `components`."""
        found = field_definition.annotation
        if self._found.setdefault(found.__name__, found) is not found:
            raise TypeError(f"two structs of the API are called {found.__name__!r}")
        schema: Schema = schema_creator.create_component_schema(
            field_definition, required=[], property_fields={}
        )
        return schema

    def components(self) -> Described:
        """Return the schemas of the structs and of those inside them, by name."""
        every = self._found.values()
        _, schemas = msgspec.json.schema_components(every, ref_template=f"{REFERENCE}{{name}}")
        structs = self._every()
        for name, schema in schemas.items():
            if "description" in schema:
                schema["description"] = inspect.cleandoc(schema["description"])
            meanings = field_meanings(structs[name]) if name in structs else {}
            for sent, shape in schema.get("properties", {}).items():
                if shape.get("type") == "array":
                    shape.setdefault("items", {})  # generators of clients refuse a list of anything
                _describe(shape, meanings.get(sent))
        return schemas

    def omitting(self) -> set[str]:
        """Return the names of the structs that are sent without the fields that have their defaults."""
        every = self._every().items()
        return {name for name, one in every if one.__struct_config__.omit_defaults}

    def _every(self) -> dict[str, type[Struct]]:
        """Return the structs of requests and answers, and those inside them, by name."""
        found: dict[str, type[Struct]] = {}
        todo: list[Any] = list(msgspec.inspect.multi_type_info(self._found.values()))
        while todo:
            one = todo.pop()
            if isinstance(one, tuple):
                todo += one
            elif isinstance(one, msgspec.inspect.StructType):
                if one.cls.__name__ not in found:
                    found[one.cls.__name__] = one.cls
                    todo += one.fields
            elif isinstance(one, msgspec.inspect.Type | msgspec.inspect.Field):
                todo += msgspec.structs.astuple(one)
        return found


def field_meanings(struct: type[Struct]) -> dict[str, str]:
    """Return the docstrings below the fields of a struct and of its bases, by the names that are sent."""
    sent = dict(zip(struct.__struct_fields__, struct.__struct_encode_fields__, strict=True))
    bases = [one for one in struct.__mro__ if issubclass(one, Struct) and one is not Struct]
    return {
        sent[name]: text
        for base in reversed(bases)
        for name, text in _docstrings(base.__module__).get(base.__name__, {}).items()
    }


@cache
def _docstrings(module: str) -> dict[str, dict[str, str]]:
    """Return the docstrings below the fields of a module's classes: Python keeps them in the source only."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {
        one.name: {
            field.target.id: inspect.cleandoc(below.value.value)
            for field, below in pairwise(one.body)
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
            if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
            if isinstance(below.value.value, str)
        }
        for one in tree.body
        if isinstance(one, ast.ClassDef)
    }


def _describe(shape: Described, meaning: str | None) -> None:
    """Give a field its meaning; one of `X | None` is told of the field, where generators look for it."""
    forms = [one for one in shape.get("anyOf", ()) if one != {"type": "null"}]
    if meaning is None and len(forms) == 1:
        meaning = forms[0].pop("description", None)
    if meaning is not None:
        shape.setdefault("description", meaning)


@dataclass
class Document(OpenAPI):
    """The document of a whole API."""

    structs: Structs = field(default_factory=Structs)

    @property
    def _exclude_fields(self) -> set[str]:
        return {"structs"}

    @cached_property
    def encoded(self) -> bytes:
        """The document as JSON, made once: it takes a tenth of a second, and whoever asks needs no key."""
        return encode_json(self.to_schema(), default_serializer)

    def to_schema(self) -> Described:
        """Return the document."""
        document = super().to_schema()
        document["components"]["schemas"] = self.structs.components()
        answers = recorded_answers()
        for item in document["paths"].values():
            for operation in item.values():
                _show_role(operation)
                _show_bodies(operation)
                _show_answers(operation, answers)
        _require_what_is_sent(document, self.structs.omitting())
        return document


@dataclass
class DocumentConfig(OpenAPIConfig):
    """The description of an API whose structs msgspec describes."""

    structs: Structs = field(default_factory=Structs)

    def to_openapi_schema(self) -> OpenAPI:
        """Return the document without its paths."""
        plain = super().to_openapi_schema()
        return Document(**vars(plain), structs=self.structs)


def recorded_answers() -> dict[str, dict[str, Any]]:
    """Return an answer to each operation, by its id and its status."""
    answers: dict[str, dict[str, Any]] = json.loads(
        files(__package__).joinpath(RECORDED).read_bytes()
    )
    return answers


def _show_role(operation: Described) -> None:
    if told := told_role(operation["operationId"]):
        operation["description"] = "\n\n".join(filter(None, [operation.get("description"), told]))


def _show_bodies(operation: Described) -> None:
    """Put the examples of a body beside its schema: inside it, a `$ref` may have no siblings."""
    for content in operation.get("requestBody", {}).get("content", {}).values():
        examples = content["schema"].pop("examples", [])
        content["examples"] = {str(n): {"value": one} for n, one in enumerate(examples, start=1)}
        if len(content["schema"].get("allOf", ())) == 1:
            [content["schema"]] = content["schema"]["allOf"]


def _show_answers(operation: Described, answers: dict[str, dict[str, Any]]) -> None:
    for status, response in operation["responses"].items():
        for header in response.get("headers", {}).values():
            header.setdefault("schema", {"type": "string"})
        recorded = answers.get(operation["operationId"], {})
        for content in response.get("content", {}).values():
            if str(status) in recorded:
                content["example"] = recorded[str(status)]


def _require_what_is_sent(document: Described, omitting: set[str]) -> None:
    """Mark the fields of answers as required: one with a default is sent too, unless its struct omits it."""
    schemas = document["components"]["schemas"]
    operations = [one for item in document["paths"].values() for one in item.values()]
    asked = _named_in([one.get("requestBody") for one in operations], schemas)
    answered = _named_in([one["responses"] for one in operations], schemas)
    for name in answered - asked - omitting:
        properties = schemas[name].get("properties", {})
        required = schemas[name].get("required", [])
        always = [field for field, shape in properties.items() if "default" in shape]
        schemas[name]["required"] = [one for one in properties if one in {*required, *always}]


def _named_in(part: Any, schemas: Described) -> set[str]:
    """Return the names of the schemas that a part of the document refers to, and of those in them."""
    found: set[str] = set()
    todo = set(NAMED.findall(str(part)))
    while todo:
        name = todo.pop()
        found.add(name)
        todo |= set(NAMED.findall(str(schemas[name]))) - found
    return found
