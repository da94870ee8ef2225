#!/usr/bin/env python3
"""Drives the page of `gqlrun inspect` in Chromium as a user does, and checks what it shows.

    inspector.py GQLRUN [--screenshots FOLDER]    prints a line for each fault; exit code 1 if there is one

A demo server, a cache, a pipeline and a batch are made with GQLRUN. Each step runs at three widths, light and dark. Any
message in the console and any request to another host is a fault.
"""
import argparse, contextlib, pathlib, subprocess, sys, tempfile
from pages import CHROMIUM, SCHEMES, WIDTHS
from playwright.sync_api import Error, expect, sync_playwright

PIPELINE = """version: 1
name: inspected
endpoint: { url: "URL" }
store: { kind: sqlite, path: cache.db }
keys: { types: { Country: [code], Continent: [code] } }
chain:
  - logging
  - cache-read
  - max-retry: { max_retries: 3, backoff: { base: 1ms, max: 1ms } }
  - fetch
  - response-code
  - parse
  - cache-write
"""
BATCH = """version: 1
name: nightly
endpoint: "URL"
run: { concurrency: 2 }
sinks: [{ ndjson: { path: "out/{{op}}.ndjson" } }]
operations:
  - id: countries
    query: "query Country($code: ID!) { country(code: $code) { code name } }"
    foreach: { csv: codes.csv, key: "{{row.code}}" }
    variables: { code: "{{row.code}}" }
    expect: ["data.country != null"]
"""
COUNTRY = "query C($code: ID!) { country(code: $code) { __typename code name continent { __typename code name } } }"
faults = []


@contextlib.contextmanager
def started(program, *arguments, folder=None):
    """The first line that a program prints, which runs until the end."""
    process = subprocess.Popen([program, *arguments], stdout=subprocess.PIPE, text=True, cwd=folder)
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()


def prepare(program, folder, url):
    def run(*arguments, statuses=(0,)):
        done = subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True)
        if done.returncode not in statuses:
            sys.exit(f"inspect: gqlrun {' '.join(arguments)} ended with {done.returncode}: {done.stderr}")

    codes = "DE FR PT ES IT NL BE AT CH DK SE NO FI PL".split() + ["X1", "X2"]
    (folder / "codes.csv").write_text("code\n" + "".join(f"{code}\n" for code in codes))
    (folder / "inspected.pipeline.yaml").write_text(PIPELINE.replace("URL", url))
    # Slow enough that its progress is seen.
    (folder / "nightly.batch.yaml").write_text(BATCH.replace("URL", f"{url}?delay=300"))
    (folder / "country.graphql").write_text(COUNTRY)
    store = ["-e", url, "--store", "sqlite:cache.db", "--keys", "Country=code", "--keys", "Continent=code"]
    for code in ("DE", "PT"):
        run("run", "country.graphql", "--var", f"code={code}", *store)


class Page:
    """The page, with a screenshot of each step."""

    def __init__(self, page, url, width, scheme, screenshots):
        self.page, self.url, self.width, self.scheme, self.screenshots = page, url, width, scheme, screenshots
        origin = "/".join(url.split("/")[:3])
        page.on("console", lambda message: self.fault(f"console: {message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.fault(f"error: {error}"))
        page.on("request", lambda request: None if request.url.startswith((origin, "data:"))
                else self.fault(f"a request to {request.url}"))

    def fault(self, text):
        faults.append(f"{self.width} {self.scheme}: {text}")

    def show(self, name):
        """Takes a screenshot; the page must not be wider than its window."""
        wide = self.page.evaluate("document.documentElement.scrollWidth")
        if wide > self.width:
            self.fault(f"{name} is {wide} pixels wide")
        if self.screenshots:
            self.page.screenshot(path=self.screenshots / f"inspect-{name}-{self.width}-{self.scheme}.png", full_page=True)

    def cache(self):
        page = self.page
        page.goto(self.url + "#cache/0")
        page.get_by_role("button", name="Country", exact=True).click()
        expect(page.get_by_role("link", name="Country:PT", exact=True)).to_be_visible()
        page.get_by_label("Key contains").fill("PT")
        page.get_by_role("button", name="Search").click()
        expect(page.get_by_role("link", name="Country:DE", exact=True)).to_have_count(0)
        self.show("cache")
        # A record, a reference, and back by an incoming reference.
        page.get_by_role("link", name="Country:PT", exact=True).click()
        expect(page.get_by_role("heading", name="Country:PT")).to_be_visible()
        page.get_by_role("link", name="Continent:EU").click()
        expect(page.get_by_role("heading", name="Continent:EU")).to_be_visible()
        page.get_by_role("button", name="Find records that refer to this one").click()
        expect(page.get_by_role("link", name="Country:DE", exact=True)).to_be_visible()
        self.show("record")
        page.get_by_role("link", name="Country:PT", exact=True).click()
        expect(page.get_by_role("heading", name="Country:PT")).to_be_visible()

    def miss(self):
        page = self.page
        page.goto(self.url + "#cache/0")
        page.locator("#miss-0-document").fill(COUNTRY.replace("name continent", "capital continent"))
        page.locator("#miss-0-variables").fill('{"code": "PT"}')
        page.get_by_role("button", name="Explain").click()
        expect(page.get_by_role("cell", name="missing").first).to_be_visible()
        self.show("miss")

    def send(self):
        page = self.page
        page.goto(self.url + "#pipeline/0")
        page.locator("#send-0-document").fill(COUNTRY)
        page.locator("#send-0-variables").fill('{"code": "FR"}')
        page.locator("#send-0-policy").select_option("network-only")
        # By the keyboard.
        page.locator("#send-0-policy").press("Tab")
        page.keyboard.press("Enter")
        expect(page.locator("pre", has_text="France").first).to_be_visible()
        row = page.get_by_role("listitem").filter(has_text="fetch").last
        expect(row).to_contain_text("HTTP 200")
        expect(row).to_contain_text("ms")
        expect(page.get_by_role("listitem").filter(has_text="cache-write").last).to_contain_text("not stored")
        self.show("pipeline")
        page.locator("#send-0-variables").fill('{"code": "PT"}')
        page.locator("#send-0-policy").select_option("cache-first")
        page.get_by_role("button", name="Send").click()
        expect(page.get_by_text("cache hit").first).to_be_visible()
        expect(page.get_by_text("not reached").first).to_be_visible()
        page.locator("#send-0-document").fill('mutation { likePost(id: "P_1") { id } }')
        page.locator("#send-0-variables").fill("")
        with self.expecting_errors():
            page.get_by_role("button", name="Send").click()
            expect(page.get_by_role("alert")).to_contain_text("--allow-write")

    @contextlib.contextmanager
    def expecting_errors(self):
        """Chromium reports each refused request in the console."""
        before = len(faults)
        yield
        self.page.wait_for_timeout(100)
        faults[before:] = [fault for fault in faults[before:] if "status of 400" not in fault]

    def subscription(self):
        page = self.page
        page.goto(self.url + "#live/0")
        page.locator("#live-0-document").fill('subscription { likesChanged(post: "P_0") { id likeCount } }')
        page.get_by_role("button", name="Start").click()
        expect(page.locator("#events li").nth(2)).to_be_visible()
        expect(page.locator("#states")).to_contain_text("open")
        page.get_by_role("button", name="Stop").click()
        expect(page.get_by_text("Stopped.")).to_be_visible()
        self.show("subscription")

    def run(self, program, folder):
        page = self.page
        page.goto(self.url + "#run/0")
        batch = subprocess.Popen([program, "batch", "run", "nightly.batch.yaml", "--quiet"], cwd=folder,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        expect(page.locator("#state")).to_have_text("running, or killed", timeout=20_000)
        expect(page.locator("#state")).to_have_text("ended", timeout=60_000)
        expect(page.get_by_text("16 of 16", exact=True)).to_be_visible()
        expect(page.get_by_role("cell", name="failed").first).to_be_visible()
        self.show("run")
        if batch.wait() != 1:
            self.fault(f"the batch ended with {batch.returncode}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--screenshots", type=pathlib.Path)
    options = parser.parse_args()
    program = str(pathlib.Path(options.program).resolve())
    if options.screenshots:
        options.screenshots.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, started(
            program, "serve", "--port", "0", "--posts", "100", "--like-every", "10ms") as server:
        folder = pathlib.Path(name)
        prepare(program, folder, server)
        subjects = ["inspected.pipeline.yaml", "cache.db", "nightly.batch.yaml"]
        with started(program, "inspect", *subjects, folder=folder) as url, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            for width in WIDTHS:
                for scheme in SCHEMES:
                    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
                    page = Page(context.new_page(), url, width, scheme, options.screenshots)
                    for step in (page.cache, page.miss, page.send, page.subscription):
                        try:
                            step()
                        except (AssertionError, Error) as error:
                            page.fault(f"{step.__name__}: {str(error).splitlines()[0]}")
                    # A batch takes seconds.
                    if (width, scheme) in ((390, "light"), (1280, "dark")):
                        try:
                            page.run(program, folder)
                        except (AssertionError, Error) as error:
                            page.fault(f"run: {str(error).splitlines()[0]}")
                    context.close()
            browser.close()
    print("\n".join(faults) or "inspect: no faults")
    sys.exit(1 if faults else 0)


main()
