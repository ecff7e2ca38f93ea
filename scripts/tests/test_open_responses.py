"""The Responses API against Open Responses (https://www.openresponses.org), and its stored responses.

The compliance suite of github.com/openresponses/openresponses is not published as a package, so its cases are here, one
test with the case's id each, and check what the case checks. The schemas are those of the specification's OpenAPI
document, unmodified, from the package openresponses-py. docs/use/RESPONSES.md lists the cases that do not apply.

The cases need a model that answers anything: the scripted model of the chat API's own tests, which says what its prompt
tells it to, or else repeats its inputs.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import jsonschema_rs
import pytest
import requests
from servers import ROOT, Gateway, Triton
from test_documentation import STORED, conforms
from test_javascript_clients import run_node
from test_openai_clients import CAFFEINE, READ, ask
from test_tool_calls import add_hermes
from waiting import PATIENCE, wait_for

SCRIPTED = ROOT / "orchestrator/chat/testdata"
MODEL = "test/scripted-vllm"
WEATHER = {
    "type": "function",
    "name": "get_weather",
    "description": "The weather of a city",
    "parameters": {"type": "object", "properties": {"location": {"type": "string"}}, "required": ["location"]},
}
CALL = {"type": "function", "name": "get_weather"}
WRITTEN_CALL = ['<tool_call>{"name": "get_weather", ', '"arguments": {"location": "Oslo"}}</tool_call>']


def script(*pieces: str, **more: object) -> str:
    """A text that makes the scripted model answer with these pieces."""
    return "script " + json.dumps({"say": pieces, **more})


def message(role: str, content: object) -> dict:
    return {"type": "message", "role": role, "content": content}


@pytest.fixture(scope="module")
def scripted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Triton]:
    """A Triton with the scripted model."""
    repository = tmp_path_factory.mktemp("repository")
    entry = repository / "scripted_vllm"
    shutil.copytree(SCRIPTED / "models/scripted_vllm", entry)
    (entry / "1").mkdir()
    shutil.copy(SCRIPTED / "scripted/model.py", entry / "1")
    add_hermes(repository)
    with Triton(repository) as triton:
        yield triton


Start = Callable[..., Gateway]


@contextlib.contextmanager
def starting(scripted: Triton, folder: Path) -> Iterator[Start]:
    """start(VARIABLE=...) starts a gateway with jobs and the keys first and second. All end with the block."""
    (folder / "keys").write_text("first\nsecond\n")
    with contextlib.ExitStack() as started:

        def start(**variables: str) -> Gateway:
            variables = {
                "RETORT_JOBS": "true",
                "RETORT_JOBS_DATA": str(folder / "jobs"),
                "RETORT_KEYS_FILE": str(folder / "keys"),
                **variables,
            }
            gateway = started.enter_context(Gateway(scripted.url, scripted.repository, **variables))
            gateway.wait_ready("chat")
            return gateway

        yield start


@pytest.fixture
def start(scripted: Triton, tmp_path: Path) -> Iterator[Start]:
    with starting(scripted, tmp_path) as start:
        yield start


@pytest.fixture(scope="module")
def gateway(scripted: Triton, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with starting(scripted, tmp_path_factory.mktemp("gateway")) as start:
        yield start()


class Client:
    """Sends requests to the Responses API below a base URL, with a key."""

    def __init__(self, base: str, key: str = "first") -> None:
        self.base = base
        self.headers = {"Authorization": f"Bearer {key}"}

    def send(self, method: str, path: str = "", body: dict | None = None) -> requests.Response:
        url = f"{self.base}/responses{path}"
        return requests.request(method, url, json=body, headers=self.headers, timeout=PATIENCE)

    def create(self, **body: object) -> dict:
        answer = self.send("POST", body={"model": MODEL, **body})
        assert answer.status_code == 200, answer.text
        check("ResponseResource", answer.json())
        return answer.json()

    def stream(self, **body: object) -> list[dict]:
        """The events of a stream, each checked against its schema."""
        answer = self.send("POST", body={"model": MODEL, "stream": True, **body})
        assert answer.status_code == 200, answer.text
        events: list[dict] = []
        *blocks, end = answer.text.strip().split("\n\n")
        assert end == "data: [DONE]"
        for block in blocks:
            name, data = block.split("\n")
            event = json.loads(data.removeprefix("data: "))
            assert name == f"event: {event['type']}" and event["sequence_number"] == len(events)
            check_event(event)
            events.append(event)
        return events


@pytest.fixture
def client(gateway: Gateway) -> Client:
    return Client(f"{gateway.url}/v1")


def specification() -> dict:
    """The OpenAPI document of Open Responses."""
    found = list(ROOT.glob(".venv-openai/lib/python3*/site-packages/openresponses/openapi/2026-04-24.json"))
    assert found, "make .venv-openai/stamp"
    return json.loads(found[0].read_text())


def check(schema: str, value: object) -> None:
    """Checks a value against a schema of the specification."""
    components = specification()["components"]
    jsonschema_rs.validate({"$ref": f"#/components/schemas/{schema}", "components": components}, value)


def check_event(event: dict) -> None:
    """Checks an event of a stream against the schema of its type."""
    components = specification()["components"]
    for name, schema in components["schemas"].items():
        if name.endswith("StreamingEvent") and event["type"] in schema["properties"]["type"]["enum"]:
            check(name, event)
            return
    pytest.fail(f"the specification has no event {event['type']}")


def text_of(response: dict) -> str:
    return "".join(part["text"] for item in response["output"] if item["type"] == "message" for part in item["content"])


def finished(response: dict) -> dict:
    assert response["status"] == "completed" and response["output"]
    return response


# The cases of the suite, by their ids.


def test_basic_response(client: Client) -> None:
    finished(client.create(input=[message("user", "Greet me in three words.")]))


def test_streaming_response(client: Client) -> None:
    events = client.stream(input=[message("user", script("1 ", "2 ", "3"))])
    kinds = [event["type"].removeprefix("response.") for event in events]
    assert kinds == [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        *["output_text.delta"] * 3,
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "completed",
    ]
    assert text_of(finished(events[-1]["response"])) == "1 2 3"
    check("ResponseResource", events[-1]["response"])


def test_system_prompt(client: Client) -> None:
    answer = client.create(input=[message("system", "Speak like a pirate."), message("user", "Greet me.")])
    assert "Speak like a pirate." in text_of(finished(answer))


def test_tool_calling(client: Client) -> None:
    answer = client.create(model="test/scripted-hermes", input=script(*WRITTEN_CALL), tools=[WEATHER])
    assert [item["type"] for item in answer["output"]] == ["function_call"]


def test_tool_calling_streaming(client: Client) -> None:
    events = client.stream(model="test/scripted-hermes", input=script(*WRITTEN_CALL), tools=[WEATHER])
    kinds = [event["type"].removeprefix("response.") for event in events]
    assert kinds == [
        "created",
        "in_progress",
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
        "completed",
    ]
    added = events[2]["item"]
    assert (added["type"], added["name"], added["arguments"]) == ("function_call", "get_weather", "")
    assert json.loads(events[-2]["item"]["arguments"]) == {"location": "Oslo"}


def test_function_call_roundtrip(client: Client) -> None:
    first = client.create(input="How warm is it in Oslo?", tools=[WEATHER], tool_choice=CALL)
    (call,) = first["output"]
    output = {"type": "function_call_output", "call_id": call["call_id"], "output": "4 degrees, snow"}
    answer = text_of(finished(client.create(previous_response_id=first["id"], input=[output])))
    assert answer.index("How warm is it in Oslo?") < answer.index("Call of get_weather") < answer.index("4 degrees")


def test_parallel_calls(client: Client) -> None:
    """Several calls of one answer with their results, as a client returns them."""
    items: list[dict] = [message("user", "How warm is it in Oslo and in Rome?")]
    items += [
        {"type": "function_call", "call_id": city, "name": "get_weather", "arguments": f'{{"location": "{city}"}}'}
        for city in ("Oslo", "Rome")
    ]
    items += [
        {"type": "function_call_output", "call_id": city, "output": [{"type": "input_text", "text": f"{city} is warm"}]}
        for city in ("Oslo", "Rome")
    ]
    made = client.create(input=items)
    answer = text_of(finished(made))
    assert answer.index("Call of get_weather") < answer.index("Oslo is warm") < answer.index("Rome is warm")
    stored = client.send("GET", f"/{made['id']}/input_items?order=asc").json()["data"]
    for item, schema in zip(stored, ["Message", *["FunctionCall"] * 2, *["FunctionCallOutput"] * 2], strict=True):
        check(schema, item)


def test_image_input(client: Client) -> None:
    parts = [{"type": "input_text", "text": "What is this?"}, {"type": "input_image", "image_url": CAFFEINE}]
    answer = client.create(input=[message("user", parts)])
    assert len(json.loads(text_of(finished(answer)))["image"]) == 1


def test_multi_turn(client: Client) -> None:
    turns = [message("user", "I am Ada."), message("assistant", "Hello, Ada."), message("user", "Who am I?")]
    answer = text_of(finished(client.create(input=turns)))
    assert answer.index("I am Ada.") < answer.index("Hello, Ada.") < answer.index("Who am I?")


def test_assistant_phase(client: Client) -> None:
    """An assistant message with a phase, which a client must be able to return."""
    spoken = {**message("assistant", "Looking."), "phase": "commentary"}
    finished(client.create(input=[message("user", "Hello."), spoken, message("user", "So?")]))


def test_previous_response_id(client: Client) -> None:
    first = client.create(input="Remember the word papaya.", instructions="Be brief.")
    second = client.create(previous_response_id=first["id"], input="Which word?")
    assert "papaya" in text_of(finished(second)) and "Be brief." not in text_of(second).split("papaya")[0]
    third = client.create(previous_response_id=second["id"], input=[message("user", "Which words?")], store=False)
    assert (second["previous_response_id"], third["store"]) == (first["id"], False)
    items = client.send("GET", f"/{second['id']}/input_items?order=asc").json()
    assert [item["role"] for item in items["data"]] == ["user", "assistant", "user"]
    assert client.send("GET", f"/{third['id']}").status_code == 404


@pytest.mark.parametrize(
    "member",
    [
        pytest.param({"tools": [{"type": "file_search", "vector_store_ids": ["vs_1"]}]}, id="file-search"),
        pytest.param({"tools": [{"type": "web_search"}]}, id="offline-web-search"),
        pytest.param(
            {"input": [message("user", [{"type": "input_file", "filename": "a.pdf", "file_data": "data:,"}])]},
            id="file-input",
        ),
    ],
)
def test_not_applicable_cases_are_refused(client: Client, member: dict) -> None:
    answer = client.send("POST", body={"model": MODEL, "input": "a", **member})
    assert answer.status_code == 400, answer.text
    problem = answer.json()["error"]
    assert problem["type"] == "invalid_request_error" and problem["param"].startswith(next(iter(member)))


# Stored responses.


def test_a_response_is_read_listed_and_deleted(gateway: Gateway) -> None:
    parts = [{"type": "input_text", "text": script("seen")}, {"type": "input_image", "image_url": CAFFEINE}]
    for base in (f"{gateway.url}/v1", gateway.url, f"{gateway.urls['chat']}/v1", f"{gateway.url}/chat/v1"):
        client = Client(base)
        made = client.create(input=[message("user", parts)], metadata={"project": "a"}, instructions="Be brief.")
        assert made["store"] is True and made["completed_at"] >= made["created_at"]
        assert client.send("GET", f"/{made['id']}").json() == made
        page = client.send("GET", f"/{made['id']}/input_items").json()
        (item,) = page["data"]
        check("Message", item)
        assert item["content"][1]["image_url"] == CAFFEINE
        assert (page["has_more"], page["first_id"]) == (False, item["id"])
        assert client.send("DELETE", f"/{made['id']}").json() == {
            "id": made["id"],
            "object": "response",
            "deleted": True,
        }
        for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/input_items"), ("POST", "/cancel")):
            gone = client.send(method, f"/{made['id']}{path}")
            assert gone.status_code == 404 and "not found" in gone.json()["error"]["message"], gone.text


def test_answers_are_as_described(gateway: Gateway, client: Client) -> None:
    """The answers of the paths that test_documentation.py leaves out, against the chat API's own description."""
    document = requests.get(f"{gateway.url}/chat/openapi.json", headers=client.headers, timeout=PATIENCE).json()
    tested = 0
    for path, methods in document["paths"].items():
        if STORED not in path:
            continue
        for method in methods.keys() & {"get", "post", "delete"}:
            made = client.create(input="a", background=True)
            suffix = path.partition(STORED)[2]
            answer = client.send(method.upper(), f"/{made['id']}{suffix}")
            assert answer.status_code == 200, answer.text
            described = methods[method]["responses"]["200"]["content"]["application/json"]
            conforms(document, described["schema"], answer.json(), path)
            tested += 1
    assert tested == 4


def test_items_are_paged(client: Client) -> None:
    made = client.create(input=[message("user", f"{i}") for i in range(5)])
    url = f"/{made['id']}/input_items?limit=2"
    first = client.send("GET", url).json()
    second = client.send("GET", f"{url}&after={first['last_id']}").json()
    texts = [item["content"][0]["text"] for page in (first, second) for item in page["data"]]
    assert texts == ["4", "3", "2", "1"] and first["has_more"] and second["has_more"]
    for query, param in (("limit=0", "limit"), ("limit=x", "limit"), ("order=up", "order")):
        refused = client.send("GET", f"/{made['id']}/input_items?{query}")
        assert (refused.status_code, refused.json()["error"]["param"]) == (400, param)
    assert client.send("GET", f"{url}&after=msg_1").status_code == 404


def test_items_that_are_sent_twice_have_distinct_ids(client: Client) -> None:
    """Official clients read page after page: an id that repeats must not lead them back to an earlier page."""
    items = [{**message("user", f"{i}"), "id": f"msg_{i % 2}"} for i in range(4)]
    first = client.create(input=items)
    made = client.create(input=items, previous_response_id=first["id"])
    seen: list[str] = []
    more = True
    while more and len(seen) < 20:
        after = f"&after={seen[-1]}" if seen else ""
        page = client.send("GET", f"/{made['id']}/input_items?limit=1&order=asc{after}").json()
        seen += [item["id"] for item in page["data"]]
        more = page["has_more"]
    assert len(seen) == len(set(seen)) == 9 and seen[:2] == ["msg_0", "msg_1"]
    refused = client.send("POST", body={"model": MODEL, "input": [{**message("user", "a"), "id": 5}]})
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "input[0].id")


def test_another_key_does_not_see_a_response(client: Client) -> None:
    made = client.create(input="a")
    other = Client(client.base, "second")
    for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/input_items"), ("POST", "/cancel")):
        assert other.send(method, f"/{made['id']}{path}").status_code == 404
    assert client.send("GET", f"/{made['id']}").status_code == 200
    refused = other.send("POST", body={"model": MODEL, "input": "b", "previous_response_id": made["id"]})
    assert refused.status_code == 400
    problem = refused.json()["error"]
    assert (problem["code"], problem["param"]) == ("previous_response_not_found", "previous_response_id")


def test_a_response_survives_a_restart(start: Start) -> None:
    gateway = start()
    made = Client(f"{gateway.url}/v1").create(input=script("kept"))
    gateway.stop()
    client = Client(f"{start().url}/v1")
    wait_for("the storage is open", lambda: client.send("GET", "/resp_0").status_code == 404)
    assert client.send("GET", f"/{made['id']}").json() == made


def test_a_background_response_goes_on_after_a_kill(start: Start) -> None:
    gateway = start()
    client = Client(f"{gateway.url}/v1")
    made = client.create(input=script(*["a"] * 50, delay_ms=100), background=True)
    wait_for("it is in progress", lambda: client.send("GET", f"/{made['id']}").json()["status"] == "in_progress")
    assert gateway.stop(signal.SIGKILL) == -signal.SIGKILL
    client = Client(f"{start().url}/v1")
    wait_for("it is completed", lambda: client.send("GET", f"/{made['id']}").json()["status"] == "completed")
    assert text_of(client.send("GET", f"/{made['id']}").json()) == "a" * 50


def test_a_large_background_response_is_sent(client: Client) -> None:
    """A request with 24 MiB of markup, which the gateway stores and sends to itself, is within the limit of a body."""
    reasoning = {"type": "reasoning", "summary": [], "encrypted_content": "<>&" * (8 << 20)}
    made = client.create(input=[reasoning, message("user", script("read"))], background=True)
    wait_for(
        "it has ended", lambda: client.send("GET", f"/{made['id']}").json()["status"] not in ("queued", "in_progress")
    )
    answer = client.send("GET", f"/{made['id']}").json()
    assert answer["status"] == "completed" and text_of(answer) == "read", answer["error"]
    assert text_of(client.create(input="again", previous_response_id=made["id"])) == "read"


def test_a_deleted_response_cannot_be_continued(client: Client) -> None:
    first = client.create(input="a")
    second = client.create(input="b", previous_response_id=first["id"])
    client.send("DELETE", f"/{first['id']}")
    for previous in (first["id"], second["id"]):
        refused = client.send("POST", body={"model": MODEL, "input": "c", "previous_response_id": previous})
        assert refused.status_code == 400 and first["id"] in refused.json()["error"]["message"], refused.text


@pytest.mark.parametrize("variables", [{"RETORT_JOBS": "false"}, {"RETORT_JOBS_KEEP_RESPONSES": "0s"}])
def test_without_storage(start: Start, variables: dict[str, str]) -> None:
    client = Client(f"{start(**variables).url}/v1")
    made = client.create(input="a", store=True)
    assert made["store"] is False and client.send("GET", f"/{made['id']}").status_code == 404
    for member, value in (("previous_response_id", made["id"]), ("background", True)):
        refused = client.send("POST", body={"model": MODEL, "input": "a", member: value})
        problem = refused.json()["error"]
        assert (refused.status_code, problem["param"]) == (400, member), refused.text
        assert "stores no responses" in problem["message"]


def test_the_oldest_responses_make_room(start: Start) -> None:
    client = Client(f"{start(RETORT_JOBS_MOST_RESPONSES='2').url}/v1")
    made = [client.create(input=script(str(i)))["id"] for i in range(3)]
    assert [client.send("GET", f"/{id}").status_code for id in made] == [404, 200, 200]


def test_lines_of_a_batch_belong_to_its_key(gateway: Gateway, client: Client) -> None:
    first = client.create(input="Remember the word papaya.")
    lines = [{"previous_response_id": first["id"], "store": True}, {"previous_response_id": first["id"]}]
    text = "".join(
        json.dumps({"custom_id": str(i), "method": "POST", "url": "/v1/responses", "body": body}) + "\n"
        for i, body in enumerate({"model": MODEL, "input": "Which word?", **line} for line in lines)
    )

    def send(method: str, path: str, **more: object) -> requests.Response:
        answer = requests.request(method, f"{gateway.url}/v1/{path}", headers=client.headers, timeout=PATIENCE, **more)
        assert answer.status_code == 200, answer.text
        return answer

    file = send("POST", "files", files={"file": ("lines.jsonl", text)}, data={"purpose": "batch"}).json()
    body = {"input_file_id": file["id"], "endpoint": "/v1/responses", "completion_window": "24h"}
    path = f"batches/{send('POST', 'batches', json=body).json()['id']}"
    wait_for("the batch is completed", lambda: send("GET", path).json()["status"] == "completed")
    results = send("GET", f"files/{send('GET', path).json()['output_file_id']}/content").text.splitlines()
    kept, other = (json.loads(line)["response"]["body"] for line in results)
    assert "papaya" in text_of(kept) and "papaya" in text_of(other) and (kept["store"], other["store"]) == (True, False)
    assert client.send("GET", f"/{kept['id']}").json() == kept
    assert client.send("GET", f"/{other['id']}").status_code == 404


def test_incomplete(client: Client) -> None:
    answer = client.create(input=script("a", "b", "c"), max_output_tokens=2)
    assert (answer["status"], answer["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
    assert answer["completed_at"] is None


def test_background(client: Client) -> None:
    def state(id: str) -> dict:
        answer = client.send("GET", f"/{id}").json()
        check("ResponseResource", answer)
        return answer

    first = client.create(input="before")
    done = client.create(input=script("late"), background=True)
    assert (done["status"], done["background"], done["output"]) == ("queued", True, [])
    wait_for("it is completed", lambda: state(done["id"])["status"] == "completed")
    assert text_of(state(done["id"])) == "late" and state(done["id"])["id"] == done["id"]
    later = client.create(input="then", previous_response_id=first["id"], background=True)
    wait_for("it is completed", lambda: state(later["id"])["status"] == "completed")

    slow = client.create(input=script(*["a"] * 400, delay_ms=100), background=True)
    wait_for("it is in progress", lambda: state(slow["id"])["status"] == "in_progress")
    refused = client.send("POST", body={"model": MODEL, "input": "a", "previous_response_id": slow["id"]})
    assert refused.status_code == 400 and "in_progress" in refused.json()["error"]["message"]
    assert client.send("POST", f"/{slow['id']}/cancel").json()["status"] == "cancelled"
    wait_for("it is cancelled", lambda: state(slow["id"])["status"] == "cancelled")
    assert client.send("POST", f"/{done['id']}/cancel").json()["status"] == "completed"

    wrong = client.create(input=script(fail="out of memory"), background=True)
    wait_for("it has failed", lambda: state(wrong["id"])["status"] == "failed")
    assert state(wrong["id"])["error"]["code"] == "server_error"


@pytest.mark.parametrize(
    "member, value",
    [
        ("metadata", {"k" * 65: "v"}),
        ("metadata", {"k": "v" * 513}),
        ("metadata", {str(i): "v" for i in range(17)}),
        ("metadata", {"k": 5}),
        ("store", "yes"),
        ("previous_response_id", 5),
        ("previous_response_id", "resp_unknown"),
        ("previous_response_id", "../keys"),
        ("conversation", "conv_1"),
        ("prompt", {"id": "p"}),
        ("max_output_tokens", 0),
        ("tools", [{"type": "function", "name": ""}]),
        ("presence_penalty", 3),
        ("model", "nobody/nothing"),
        ("input", []),
    ],
)
def test_refusals_name_the_field(client: Client, member: str, value: object) -> None:
    answer = client.send("POST", body={"model": MODEL, "input": "a", member: value})
    assert answer.status_code == (404 if member == "model" else 400), answer.text
    assert answer.json()["error"]["param"].startswith(member), answer.text


def test_refusals_of_state(client: Client) -> None:
    made = client.create(input="a")
    refused = client.send("POST", f"/{made['id']}/cancel")
    assert (refused.status_code, refused.json()["error"]["message"]) == (400, "Cannot cancel a synchronous response.")
    assert client.send("GET", f"/{made['id']}?stream=true").status_code == 400
    for members in ({"background": True, "stream": True}, {"background": True, "store": False}):
        assert client.send("POST", body={"model": MODEL, "input": "a", **members}).status_code == 400
    assert client.send("POST", "/compact", {"model": MODEL, "input": "a"}).status_code in (404, 405)
    assert client.send("PUT", f"/{made['id']}").status_code == 405


# Clients, with the included model: they ask a second question about a drawing that only the first request has.

FORMULA = "Its molecular formula is C8H10N4O2."
GONE = "previous_response_not_found"


@pytest.fixture(scope="module")
def reader(stack: Gateway, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway with jobs in front of the included models."""
    data = tmp_path_factory.mktemp("reader") / "jobs"
    with Gateway(stack.triton, stack.repository, RETORT_JOBS="true", RETORT_JOBS_DATA=str(data)) as gateway:
        gateway.wait_ready("chat")
        yield gateway


@pytest.fixture(scope="module")
def python_results(reader: Gateway) -> dict:
    return ask("openai", "responses_client.py", reader.url)


def test_openai_python(python_results: dict) -> None:
    assert python_results["conversation"] == [
        READ,
        FORMULA,
        True,
        {"project": "a"},
        ["user", "assistant", "user"],
        True,
        ["NotFoundError", None, None],
        ["BadRequestError", GONE, "previous_response_id"],
        ["BadRequestError", None, "id"],
    ]
    assert python_results["background"] == ["queued", "completed", READ, "completed"]


def test_pydantic_ai(python_results: dict) -> None:
    assert python_results["pydantic_ai"] == [READ, FORMULA, True]


def test_openai_agents(python_results: dict) -> None:
    assert python_results["agents"] == [READ, FORMULA]


def test_openresponses_py(python_results: dict) -> None:
    assert python_results["open_responses"] == ["completed", "response.created", "response.completed"]


def test_openai_javascript(reader: Gateway, tmp_path: Path) -> None:
    assert run_node("responses.mjs", tmp_path, reader.url, CAFFEINE) == {
        "texts": [READ, FORMULA, FORMULA],
        "roles": ["user", "assistant", "user"],
        "gone": ["NotFoundError", 404, None, None],
        "broken": ["BadRequestError", 400, GONE, "previous_response_id"],
        "synchronous": ["BadRequestError", 400, None, "id"],
    }


def test_openai_go(reader: Gateway, tmp_path: Path) -> None:
    program = tmp_path / "clients"
    subprocess.run(
        ["go", "build", "-trimpath", "-o", str(program), "."], cwd=ROOT / "scripts/tests/go_clients", check=True
    )
    run = subprocess.run(
        [str(program), reader.url, CAFFEINE, "stored"], capture_output=True, text=True, timeout=4 * PATIENCE
    )
    assert run.returncode == 0, run.stderr[-4000:]
    assert json.loads(run.stdout)["stored"] == [
        READ,
        FORMULA,
        FORMULA,
        3,
        [[404, "", ""], [400, GONE, "previous_response_id"], [400, "", "id"]],
    ]
