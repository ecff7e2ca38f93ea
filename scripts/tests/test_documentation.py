"""The served OpenAPI descriptions: their examples, sent unchanged to the real service, and their texts."""

from __future__ import annotations

import json
from collections.abc import Iterator

import jsonschema_rs
import pytest
import requests
from servers import APIS
from waiting import PATIENCE

METHODS = ("get", "post")
WITH_TOKENIZER = {"chat": ("/tokenize", "/detokenize")}
"""Endpoints for models with a tokenizer, by API: the included model has none. test_vllm_requests.py has another."""
STORED = "{response_id}"
"""Part of the paths of stored responses, which test_open_responses.py tests."""


def description(stack, api: str) -> dict:
    return requests.get(f"{stack.url}/{api}/openapi.json", timeout=PATIENCE).json()


def operations(document: dict) -> Iterator[tuple[str, str, dict]]:
    for path, methods in document["paths"].items():
        for method in METHODS:
            if method in methods:
                yield path, method, methods[method]


def resolved(document: dict, node: dict) -> dict:
    while "$ref" in node:
        found = document
        for step in node["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        node = found
    return node


def examples(content: dict) -> dict:
    """The examples of a media type by name; of one without a name, under ''."""
    if "example" in content:
        return {"": content["example"]}
    return {name: example["value"] for name, example in content.get("examples", {}).items()}


@pytest.mark.parametrize("api", APIS)
def test_every_request_example_is_answered_as_described(stack, api: str) -> None:
    document, sent = description(stack, api), 0
    for path, method, operation in operations(document):
        if method != "post" or STORED in path:
            continue
        bodies = examples(operation["requestBody"]["content"]["application/json"])
        assert bodies, f"{path} has no example"
        for name, body in bodies.items():
            answer = requests.post(
                f"{stack.url}/{api}{path.replace('{model}', 'any/model')}", json=body, timeout=PATIENCE
            )
            if path in WITH_TOKENIZER.get(api, ()):
                assert answer.status_code == 400 and "has no tokenizer here" in answer.json()["message"], answer.text
                continue
            # An operation without a success is there to be refused.
            status = "200" if "200" in operation["responses"] else "424"
            assert answer.status_code == int(status), f"{path} {name}: {answer.text}"
            media = answer.headers["Content-Type"].partition(";")[0]
            described = resolved(document, operation["responses"][status])["content"][media]
            if media == "application/json":
                conforms(document, described["schema"], answer.json(), f"{path} {name}")
            sent += 1
    assert sent > 0


@pytest.mark.parametrize("api", APIS)
def test_every_get_is_answered_as_described(stack, api: str) -> None:
    document = description(stack, api)
    model = requests.get(f"{stack.url}/{api}/v1/metadata", timeout=PATIENCE).json()["modelInfo"][0]["modelUrl"]
    for path, method, operation in operations(document):
        if method == "get" and STORED not in path:
            answer = requests.get(f"{stack.url}/{api}{path.replace('{id}', model)}", timeout=PATIENCE)
            assert answer.status_code == 200, f"{path}: {answer.text}"
            for media, described in operation["responses"]["200"]["content"].items():
                if media == "application/json":
                    conforms(document, described["schema"], answer.json(), path)


@pytest.mark.parametrize("api", APIS)
def test_every_operation_is_described(stack, api: str) -> None:
    document = description(stack, api)
    release = requests.get(f"{stack.url}/{api}/v1/version", timeout=PATIENCE).json()
    assert document["info"]["version"] == release["release"] == release["api"]
    assert all(tag.get("description") for tag in document["tags"]), document["tags"]
    for path, _, operation in operations(document):
        assert operation["summary"], path
        for status, response in operation["responses"].items():
            response = resolved(document, response)
            assert len(response["description"]) > 10, f"{path} {status}: {response['description']}"
            if status == "200":
                for media, content in response["content"].items():
                    shown = examples(content)
                    assert shown or media == "text/event-stream", f"{path} {media} has no example of an answer"
                    for name, example in shown.items():
                        if media == "application/json":
                            conforms(document, content["schema"], example, f"{path} {name}")


def test_the_example_called_documented_has_the_documented_floor(stack) -> None:
    operation = description(stack, "latent")["paths"]["/generate"]["post"]
    documented = operation["requestBody"]["content"]["application/json"]["examples"]["documented"]["value"]
    assert documented["min_similarity"] == 0.7


@pytest.mark.parametrize("api", APIS)
def test_licence_manifest_and_models(stack, api: str) -> None:
    base = f"{stack.url}/{api}"
    licence = requests.get(f"{base}/v1/license", timeout=PATIENCE).json()
    assert (licence["name"], licence["type"]) == ("Apache-2.0", "file")
    assert licence["size"] == len(licence["content"]) > 10_000
    models = [model["modelUrl"] for model in requests.get(f"{base}/v1/metadata", timeout=PATIENCE).json()["modelInfo"]]
    manifest = requests.get(f"{base}/v1/manifest", timeout=PATIENCE).json()["manifest_file"]
    assert all(model in manifest for model in models)
    for model in models:
        for spelling in (model, model.replace("/", "%2F")):
            assert requests.get(f"{base}/v1/models/{spelling}", timeout=PATIENCE).json()["id"] == model
    unknown = requests.get(f"{base}/v1/models/nobody/nothing", timeout=PATIENCE)
    assert unknown.status_code == 404
    assert "nobody/nothing" in unknown.text


def conforms(document: dict, schema: dict, value: object, where: str) -> None:
    """A value against a schema, whose references are into the document."""
    validator = jsonschema_rs.Draft202012Validator({**schema, "components": document.get("components", {})})
    problems = [f"{problem.message[:300]} at {problem.instance_path}" for problem in validator.iter_errors(value)]
    assert not problems, f"{where}: {problems[:3]} of {json.dumps(value)[:300]}"
