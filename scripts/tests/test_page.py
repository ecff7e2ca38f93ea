"""The page for people in Debian's Chromium, on the whole stack: each view does its main job without violations of the
Content-Security-Policy and without messages on the console."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests
from pictures import struck_through
from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright
from rdkit import Chem
from servers import APIS, Gateway
from waiting import PATIENCE

IBUPROFEN, CAFFEINE, ASPIRIN = "CC(Cc1ccc(cc1)C(C(=O)O)C)C", "CN1C=NC2=C1C(=O)N(C(=O)N2C)C", "CC(=O)Oc1ccccc1C(=O)O"
DRAWINGS = Path(__file__).parent / "testdata/drawings"
VIEWS = ("molecules", "templates", "retrieval", "chat", "scores", "operators")
expect.set_options(timeout=PATIENCE * 1000)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as p:
        # Chromium has no sandbox when the tests run as root. It opens only pages of this program.
        yield p.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-dev-shm-usage"])


@pytest.fixture
def page(browser: Browser, gateway_url: str) -> Iterator[Page]:
    """A new tab. Messages on its console and requests to other hosts fail the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, base_url=gateway_url)
    tab = context.new_page()
    tab.set_default_timeout(PATIENCE * 1000)
    complaints: list[str] = []
    tab.on("console", lambda m: complaints.append(m.text) if m.type in ("error", "warning") else None)
    tab.on("pageerror", lambda e: complaints.append(str(e)))
    tab.on(
        "request",
        lambda r: (
            complaints.append(r.url) if urlsplit(r.url).scheme == "http" and not r.url.startswith(gateway_url) else None
        ),
    )
    tab.complaints = complaints  # tests of refusals remove the expected ones
    yield tab
    context.close()
    assert not complaints


def started(page: Page, view: str) -> None:
    page.goto(f"/#{view}")
    expect(page.locator(f"#{view}")).to_be_visible()


def done(page: Page, view: str) -> None:
    """Waits until the work of a view has succeeded."""
    form = page.locator(f"#{view} form")
    expect(form).not_to_have_attribute("aria-busy", "true")
    status = form.locator(".status").inner_text()
    assert "Done" in status, (status, form.locator(".problem").all_inner_texts())


def smiles(page: Page, view: str) -> list[str]:
    return page.locator(f"#{view} .card .smiles").all_text_contents()


def test_molecules_are_optimised_and_downloaded(page: Page):
    started(page, "molecules")
    page.locator("#molecules").get_by_label("Molecules to try").fill("150")
    page.get_by_role("button", name="Start", exact=True).click()
    done(page, "molecules")
    cards = page.locator("#molecules .card")
    expect(cards.first.locator("img.drawing")).to_be_visible()
    assert cards.first.locator("img.drawing").evaluate("i => i.complete && i.naturalWidth > 0")
    expect(page.locator("#molecules .progress canvas")).to_be_visible()
    found = smiles(page, "molecules")
    assert 1 < len(found) <= 12
    assert all(Chem.MolFromSmiles(s) for s in found)

    with page.expect_download() as sd_file:
        page.get_by_role("button", name="SDF").click()
    records = list(Chem.SDMolSupplier(str(sd_file.value.path())))
    assert [Chem.MolToSmiles(m) for m in records] == [Chem.CanonSmiles(s) for s in found]
    assert all(float(m.GetProp("similarity")) >= 0.4 and m.HasProp("score") for m in records)
    with page.expect_download() as table:
        page.get_by_role("button", name="CSV").click()
    rows = list(csv.DictReader(io.StringIO(table.value.path().read_text())))
    assert [r["smiles"] for r in rows] == found

    page.locator("#molecules").get_by_label("Filter").fill("similarity > 2")
    expect(cards).to_have_count(0)
    page.locator("#molecules").get_by_label("Filter").fill("")
    expect(cards).to_have_count(len(found))
    page.goto("about:blank")
    page.go_back()  # the fragment has the state
    expect(cards).to_have_count(len(found))
    assert page.locator("#m-budget").input_value() == "150"


def test_a_stopped_search_keeps_its_molecules(page: Page):
    started(page, "molecules")
    page.locator("#molecules").get_by_label("Molecules to try").fill("30000")
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.locator("#molecules .card").first).to_be_visible()
    page.locator("#molecules").get_by_role("button", name="Stop").click()
    expect(page.locator("#molecules .status")).to_contain_text("Stopped after")
    assert smiles(page, "molecules")


def test_sampling_and_interpolation(page: Page):
    started(page, "molecules")
    for task, least in (("Sample", 12), ("Interpolate", 1)):
        page.get_by_text(task, exact=True).click()
        page.get_by_role("button", name="Start", exact=True).click()
        done(page, "molecules")
        expect(page.locator("#molecules .card").nth(least - 1)).to_be_visible()
    page.get_by_role("button", name="As Python").click()
    expect(page.locator("#molecules .snippet code")).to_contain_text("/latent/decode")


def test_the_editor_and_several_terms(page: Page):
    started(page, "molecules")
    page.locator("#molecules").get_by_role("button", name="Draw").first.click()
    expect(page.locator("#editor canvas").first).to_be_visible()
    page.get_by_role("button", name="Use this molecule").click()
    assert Chem.CanonSmiles(page.locator("#m-smi").input_value()) == Chem.CanonSmiles(IBUPROFEN)
    page.get_by_role("button", name="Add a term").click()
    page.locator("#molecules").get_by_label("Molecules to try").fill("60")
    page.get_by_role("button", name="Start", exact=True).click()
    done(page, "molecules")


def test_filters(page: Page):
    """Results of both molecule APIs are within the bounds, and the status says how many molecules were left out."""
    for view, start in (("molecules", "Start"), ("templates", "Generate")):
        started(page, view)
        form = page.locator(f"#{view}")
        form.get_by_role("button", name="Add a filter").click()
        form.get_by_label("Filtered property").select_option("MW")
        form.get_by_label("Bound").fill("320")
        form.get_by_role("button", name="Add a filter").click()
        assert form.get_by_label("Filtered property").nth(1).input_value() == "SA"
        form.get_by_label("Bound").nth(1).fill("3.5")
        if view == "molecules":
            form.get_by_label("Molecules to try").fill("150")
        form.get_by_role("button", name=start, exact=True).click()
        done(page, view)
        expect(form.locator(".status")).to_contain_text(re.compile(r"Left out: [\d,]+ \(MW [\d,]+, SA [\d,]+\)\."))
        values = form.locator(".card .values").all_text_contents()
        assert values
        for text in values:
            weight, effort = re.fullmatch(r"MW ([\d.]+) · SA ([\d.]+)", text).groups()
            assert float(weight) <= 320 and float(effort) <= 3.5
        expect(page).to_have_url(re.compile("filters=.*found="))  # written a moment after the last change
        page.goto("about:blank")
        page.go_back()
        expect(form.get_by_label("Bound").nth(0)).to_have_value("320")
        form.get_by_role("button", name="Remove this filter").first.click()
        assert form.get_by_label("Filtered property").input_value() == "SA"


def test_a_filter_needs_its_bound(page: Page):
    """The service refuses a filter without a number, and the page shows why. Filters of a broken link are skipped."""
    page.goto('/#molecules?filters=[null,1,{},{"name":"MW","side":"min","bound":"100"}]')
    form = page.locator("#molecules form")
    expect(form.get_by_label("Filtered property")).to_have_count(1)
    expect(form.get_by_label("Filtered property")).to_have_value("MW")
    form.get_by_label("Bound").fill("")
    form.get_by_role("button", name="Start", exact=True).click()
    expect(form.locator('[data-field="filters"] .problem')).to_be_visible()
    page.complaints[:] = [c for c in page.complaints if "422" not in c]


def test_an_error_is_shown_beside_its_field(page: Page):
    started(page, "molecules")
    page.locator("#m-smi").fill("C1CC(<b>x</b>")
    expect(page.locator('#molecules [data-field="smi"] .problem')).to_contain_text("not a molecule")
    page.locator("#m-smi").fill(IBUPROFEN)
    page.locator("#molecules").get_by_label("Results").first.fill("5000")
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.locator('#molecules [data-field="num_molecules"] .problem')).to_contain_text("less than or equal to")
    assert page.locator("#m-count").get_attribute("aria-invalid") == "true"
    page.complaints[:] = [c for c in page.complaints if "422" not in c]


def test_filled_templates_keep_their_fragments(page: Page):
    started(page, "templates")
    page.locator("#t-count").fill("6")
    page.get_by_role("button", name="Generate").click()
    done(page, "templates")
    expect(page.locator("#templates .card img.drawing").first).to_be_visible()
    page.get_by_text("How this was made").click()
    made = json.loads(page.locator("#templates .snippet details pre").inner_text())
    assert made["path"] == "/masked/generate" and made["request"]["seed"] >= 0 and made["models"][0]["sha256"], made
    with page.expect_download() as download:
        page.locator("#templates .snippet details").get_by_role("button", name="Download").click()
    assert json.loads(Path(download.value.path()).read_text()) == made
    found = smiles(page, "templates")
    given = Chem.MolFromSmarts("C1CCNCC1.c1ccc(F)cc1")
    assert found and all(Chem.MolFromSmiles(s).HasSubstructMatch(given) for s in found)
    expect(page.locator("#templates .legend .given")).to_be_visible()
    page.get_by_label("At most").fill("5")
    page.get_by_role("button", name="Generate").click()  # a mask of 15 to 5
    expect(page.locator('#templates [data-field="template"] .problem')).to_contain_text("above its most")
    page.complaints[:] = [c for c in page.complaints if "400" not in c]


def test_embedding_and_ranking_are_compared(page: Page):
    started(page, "retrieval")
    expect(page.locator("#r-embedder option").first).to_be_attached()
    expect(page.locator("#r-ranker option").first).to_be_attached()
    page.get_by_role("button", name="Compare").click()
    done(page, "retrieval")
    for heading in ("By embedding", "By ranking"):
        order = page.get_by_role("region", name=heading)
        expect(order.locator("li")).to_have_count(6)
        expect(order.locator(".hint")).to_contain_text("ms")
        assert any(drug in order.locator("li").first.inner_text() for drug in ("Aspirin", "Ibuprofen"))
    hint = page.get_by_role("region", name="By embedding").locator(".hint")
    expect(hint).to_contain_text(re.compile(r"Unrelated texts are below 0\.\d+ \(50 %\), .*\(99\.9 %\)"))
    page.get_by_role("button", name="As Python").click()
    program = page.locator("#retrieval .snippet code").inner_text()
    exec(compile(program, "snippet", "exec"), {})  # as a user would run it


def test_a_conversation_about_a_drawing(page: Page):
    started(page, "chat")
    expect(page.locator("#chat select option").first).to_be_attached()
    page.locator("#chat input[type=file]").set_input_files([DRAWINGS / "caffeine.png", DRAWINGS / "aspirin.png"])
    expect(page.locator("#chat .pictures img")).to_have_count(2)
    page.locator("#c-text").fill("What are the SMILES of these molecules?")
    page.get_by_role("button", name="Send").click()
    done(page, "chat")
    words = re.findall(r"[^\s,;`'\"]+", page.locator("#chat .message.assistant .words").inner_text())
    read = {Chem.CanonSmiles(w.rstrip(".:")) for w in words if Chem.MolFromSmiles(w.rstrip(".:"))}
    assert {Chem.CanonSmiles(CAFFEINE), Chem.CanonSmiles(ASPIRIN)} <= read
    page.locator("#c-text").fill("And what is the formula of the first one? <img src=x onerror=alert(1)>")
    page.keyboard.press("Enter")
    expect(page.locator("#chat .message.assistant")).to_have_count(2)
    done(page, "chat")
    expect(page.locator("#chat .message.assistant").nth(1)).to_contain_text("C8H10N4O2")
    expect(page.locator("#chat .message.user").nth(1)).to_contain_text("<img src=x onerror=alert(1)>")
    expect(page.locator("#chat .message.user").nth(1).locator("img")).to_have_count(0)
    expect(page.locator("#chat .snippet code")).to_contain_text("base64 -w0 picture1.png")
    readings = page.locator("#chat .message.assistant").first.locator(".readings figure")
    expect(readings).to_have_count(2)
    expect(readings.locator("figcaption")).to_have_text([re.compile(r"^Read as this \(9\d %\)$")] * 2)
    assert all(readings.locator("img").evaluate_all("all => all.map(i => i.complete && i.naturalWidth > 0)"))


def test_molecules_of_a_page_have_numbers_in_the_picture(page: Page):
    started(page, "chat")
    expect(page.locator("#chat select option").first).to_be_attached()
    drawings = [Image.open(DRAWINGS / "caffeine.png").convert("RGB")] * 2
    whole = Image.new("RGB", (sum(d.width for d in drawings) + 60, max(d.height for d in drawings) + 40), "white")
    whole.paste(drawings[0], (20, 20))
    whole.paste(drawings[1], (drawings[0].width + 40, 20))
    png = io.BytesIO()
    whole.save(png, "PNG")
    page.locator("#chat input[type=file]").set_input_files(
        {"name": "page.png", "mimeType": "image/png", "buffer": png.getvalue()}
    )
    page.locator("#c-text").fill("Which molecules are on this page?")
    page.get_by_role("button", name="Send").click()
    done(page, "chat")
    captions = page.locator("#chat .message.assistant .readings figcaption")
    expect(captions).to_have_text([re.compile(rf"^{number}\. Read as this \(9\d %\)$") for number in (1, 2)])
    boxes = page.locator("#chat .message.user .box")
    expect(boxes).to_have_text(["1", "2"])
    picture = page.locator("#chat .message.user img").bounding_box()
    first, second = (boxes.nth(number).bounding_box() for number in (0, 1))
    assert picture["x"] <= first["x"] < second["x"] < picture["x"] + picture["width"]
    assert second["x"] > picture["x"] + 0.45 * picture["width"] and first["height"] < picture["height"]


def test_an_unsure_reading_is_shown_beside_the_picture(page: Page):
    started(page, "chat")
    expect(page.locator("#chat select option").first).to_be_attached()
    picture = struck_through(DRAWINGS / "aspirin.png")
    page.locator("#chat input[type=file]").set_input_files(
        {"name": "struck.png", "mimeType": "image/png", "buffer": picture}
    )
    page.locator("#c-text").fill("How many rings does it have?")
    page.get_by_role("button", name="Send").click()
    done(page, "chat")
    expect(page.locator("#chat .message.assistant .words")).to_contain_text("I am not sure that I read this drawing")
    unsure = page.locator("#chat .message.assistant .reading.unsure")
    expect(unsure.locator("figcaption")).to_have_text(re.compile(r"^Not sure \(\d+ %\): is this your drawing\?$"))
    smiles = unsure.locator("img").get_attribute("alt")
    expect(page.locator("#chat .message.assistant .words")).to_contain_text(f"I read it as {smiles}.")
    assert unsure.locator("img").evaluate("i => i.complete && i.naturalWidth > 0")


def test_operators_see_models_and_latencies(page: Page, gateway_url: str):
    started(page, "operators")
    expect(page.locator(".api")).to_have_count(len(APIS))
    expect(page.locator(".api .state.good")).to_have_count(len(APIS))
    expect(page.locator('[data-api="latent"]')).to_contain_text("latent_encoder, version 1")
    body = {"model": "retort/minilm-embedqa-v2", "input": ["x"], "input_type": "query"}
    assert requests.post(gateway_url + "/v1/embeddings", json=body, timeout=PATIENCE).ok
    expect(page.locator('[data-api="embedding"] .figures')).to_have_text(re.compile(r"median[\d.]+ ms95 %[\d.]+ ms"))
    expect(page.locator(".api canvas")).to_have_count(len(APIS))


def test_scores_are_typed(browser: Browser, stack: Gateway, tmp_path: Path):
    """A person sees the molecules that a job waits for, types scores and marks a failure, until the job has ended."""
    settings = {"RETORT_JOBS": "true", "RETORT_JOBS_DATA": str(tmp_path / "jobs")}
    with Gateway(stack.triton, stack.repository, **settings) as gateway:
        gateway.wait_ready("latent")
        context = browser.new_context(base_url=gateway.url)
        tab = context.new_page()
        tab.set_default_timeout(PATIENCE * 1000)
        started(tab, "scores")
        status = tab.locator("#scores .status")
        expect(status).to_have_text("No job waits for a score.")
        jobs = gateway.url + "/latent/generate/jobs"
        body = {
            "smi": IBUPROFEN,
            "objective": "told",
            "iterations": 1,
            "particles": 4,
            "min_similarity": 0.1,
            "seed": 1,
        }
        job = f"{jobs}/{requests.post(jobs, json=body, timeout=PATIENCE).json()['id']}"
        cards = tab.locator("#scores .card")
        expect(cards).to_have_count(1)
        expect(cards.locator("img")).to_have_attribute("alt", re.compile("^[A-Za-z(]"))
        send = tab.get_by_role("button", name="Send the scores")
        field = tab.locator("#scores .card").get_by_role("textbox")
        field.fill("seven")
        send.click()
        expect(status).to_contain_text("not a number")
        field.fill("7.5")
        send.click()
        expect(tab.locator('#scores .card[data-id="1-0"]')).to_be_visible()  # the next batch, of any size
        waiting = requests.get(job + "/ask", timeout=PATIENCE).json()["candidates"]
        for i, candidate in enumerate(waiting):
            card = tab.locator(f'#scores .card[data-id="{candidate["id"]}"]')
            if i == 0:
                card.get_by_role("checkbox").check()
            else:
                card.get_by_role("textbox").fill(str(i))
        send.click()
        expect(status).to_contain_text(f"Accepted: {len(waiting)}.")
        told = requests.get(job + "/evaluated", timeout=PATIENCE).json()["evaluated"]
        assert [m["score"] for m in told] == [7.5, None, *range(1, len(waiting))]
        context.close()


def test_the_page_asks_for_a_key_and_stores_it_in_the_tab(browser: Browser, stack: Gateway, tmp_path: Path):
    keys = tmp_path / "keys"
    keys.write_text("right\n")
    with Gateway(stack.triton, stack.repository, RETORT_KEYS_FILE=str(keys)) as gateway:
        gateway.wait_ready("latent")
        context = browser.new_context(base_url=gateway.url)
        tab = context.new_page()
        tab.set_default_timeout(PATIENCE * 1000)
        tab.goto("/")
        for key in ("wrong", "right"):
            expect(tab.locator("#key")).to_be_visible()
            tab.locator("#key-input").fill(key)
            tab.get_by_role("button", name="Use the key").click()
            if key == "wrong":
                expect(tab.locator("#key .problem")).to_contain_text("not known")
        expect(tab.locator("#molecules .preview img").first).to_be_visible()
        assert tab.evaluate(
            "() => [JSON.stringify(sessionStorage), JSON.stringify(localStorage), document.cookie]"
        ) == ['{"retort-key":"right"}', "{}", ""]
        tab.locator("#m-budget").fill("60")
        tab.get_by_role("button", name="Start", exact=True).click()
        done(tab, "molecules")
        code = tab.locator("#molecules .snippet code").inner_text()
        assert "$RETORT_API_KEY" in code
        assert "right" not in code
        context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 900, 1600])
def test_nothing_is_wider_than_the_window(browser: Browser, gateway_url: str, width: int, scheme: str):
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme, base_url=gateway_url)
    tab = context.new_page()
    for view in VIEWS:
        started(tab, view)
        assert tab.evaluate("() => document.documentElement.scrollWidth") <= width, view
        unnamed = tab.evaluate(
            """v => [...document.querySelectorAll(`#${v} :is(button, input, select, textarea)`)]
            .filter(e => !(e.textContent.trim() || e.labels?.length || e.getAttribute('aria-label')))
            .map(e => e.outerHTML)""",
            view,
        )
        assert unnamed == [], "controls without a name"
    context.close()


def test_assets_are_small_cached_and_local(gateway_url: str):
    names, total = ["/"], 0
    for name in names:
        answer = requests.get(gateway_url + name, headers={"Accept-Encoding": "gzip"}, timeout=PATIENCE, stream=True)
        assert answer.status_code == 200, name
        total += len(answer.raw.read(decode_content=False))
        assert "default-src 'none'; script-src 'self'; style-src 'self'" in answer.headers["Content-Security-Policy"]
        again = requests.get(gateway_url + name, headers={"If-None-Match": answer.headers["ETag"]}, timeout=PATIENCE)
        assert again.status_code == 304
        if name == "/":
            folder = "/page/assets/"
            names += [
                folder + n
                for n in (
                    "main.js",
                    "style.css",
                    "views.css",
                    "third_party/openchemlib.js",
                    "third_party/uplot.js",
                    "third_party/uplot.css",
                )
            ]
    assert total < 1_500_000
    plain = requests.get(gateway_url + "/", headers={"Accept-Encoding": "identity"}, timeout=PATIENCE)
    assert plain.headers.get("Content-Encoding") is None
    assert "<script" not in plain.text.replace("<script src=", "")
