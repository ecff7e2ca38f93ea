"""Takes the screenshot of the web page for README.md: the results of a search for molecules.

RETORT_HOST=127.0.0.1 make run        in another terminal
.venv-tests/bin/python -m scripts.golden.page_picture orchestrator/docs/page.png
"""

from __future__ import annotations

import argparse
import io
from pathlib import Path

from PIL import Image
from playwright.sync_api import expect, sync_playwright

COLOURS = 128
"""Size of the palette. A picture with a palette makes a small file."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="PNG file to write")
    parser.add_argument("--url", default="http://127.0.0.1:8000", help="URL of a running gateway, at its main port")
    options = parser.parse_args()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 800})
        page.goto(f"{options.url}/#molecules")
        view = page.locator("#molecules")
        view.get_by_label("Molecules to try").fill("1500")
        page.get_by_role("button", name="Start", exact=True).click()
        expect(view.locator(".status")).to_contain_text("Done", timeout=600_000)
        picture = Image.open(io.BytesIO(page.screenshot()))
        browser.close()
    picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(options.file, optimize=True)


if __name__ == "__main__":
    main()
