#!/usr/bin/env python3
"""Opens the pages of gqlrun's reports in Chromium, and checks what readers of them rely on.

    pages.py GQLRUN [--screenshots FOLDER] [--only NAME]    prints a line for each fault; exit code 1 if there is one

GQLRUN makes a page of each kind. Each is opened at three widths, light and dark, and printed. First, pages with one
fault each show that the checks find it.
"""
import argparse, contextlib, json, os, pathlib, shutil, subprocess, sys, tempfile
from playwright.sync_api import sync_playwright

WIDTHS = (390, 768, 1280)
SCHEMES = ("light", "dark")
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or sys.exit("pages: there is no chromium in PATH")

FEED = """query Feed($first: Int!) { feed(first: $first) { edges { node {
  id title body publishedAt likeCount author { id login name bio avatarUrl } tags { id name color }
  comments(first: 5) { edges { node { id body createdAt author { id login name } } } } } } } }
"""
BATCH = """version: 1
name: nightly
run: { concurrency: 4 }
sinks: [{ ndjson: { path: "out/{{op}}.ndjson" } }]
report: { html: batch.html, json: batch.json }
thresholds: ["failed < 1%", "p95_ms < 5000"]
operations:
  - id: countries
    query: "query Country($code: ID!) { country(code: $code) { code name capital } }"
    foreach: { csv: codes.csv, key: "{{row.code}}" }
    variables: { code: "{{row.code}}" }
    emit: country
    expect: ["data.country != null"]
  - id: posts
    query: "query Posts($first: Int!, $after: String) { feed(first: $first, after: $after) { edges { node { id title } cursor } pageInfo { hasNextPage endCursor } } }"
    paginate: { connection: feed, page_size: { variable: first, start: 100 } }
    emit: feed.edges[*]
  - id: likes
    query: "mutation Like($id: ID!) { likePost(id: $id) { id } }"
    foreach: { csv: ids.csv, key: "{{row.id}}" }
    variables: { id: "{{row.id}}" }
    timeout: 15ms
    emit: likePost
  - id: totals
    query: "query Totals { countries { code } }"
    expect: ["data.countries == null"]
  - id: audit
    needs: [totals]
    query: "{ countries { name } }"
"""
SUBSCRIPTION = "subscription { countdown(from: 1000, delay: 20) }\n"


@contextlib.contextmanager
def server(program, *options):
    """The URL of a demo server."""
    process = subprocess.Popen([program, "serve", "--port", "0", *options], stdout=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()


def make(program, folder):
    """Makes a page of each kind, and returns their paths by name."""
    def run(*arguments, statuses=(0,)):
        done = subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True)
        if done.returncode not in statuses:
            sys.exit(f"pages: gqlrun {' '.join(arguments)} ended with {done.returncode}: {done.stderr}")

    codes = "DE FR PT ES IT NL BE AT CH DK SE NO FI PL CZ GR IE HU RO BG HR SI SK EE LV LT US CA MX BR AR CL PE CO".split()
    (folder / "codes.csv").write_text("code\n" + "".join(f"{code}\n" for code in codes + ["X1", "X2", "X" * 120, "<b>&amp;"]))
    (folder / "ids.csv").write_text("id\n" + "".join(f"P_{number}\n" for number in range(1, 19)))
    (folder / "feed.graphql").write_text(FEED)
    (folder / "events.graphql").write_text(SUBSCRIPTION)
    (folder / "nightly.batch.yaml").write_text(BATCH)
    (folder / "empty.batch.yaml").write_text(
        BATCH.replace("batch.", "batch-empty.").replace("nightly", "empty").replace("out/", "empty/")
        .split("  - id: posts")[0].replace("codes.csv", "none.csv"))
    (folder / "none.csv").write_text("code\n")
    (folder / "load.batch.yaml").write_text(
        BATCH.replace("report: { html: batch.html, json: batch.json }\n", "").split("  - id: posts")[0]
        + '  - id: tags\n    query: "{ countries { code name } }"\n'
        + f'  - id: events\n    query: "{SUBSCRIPTION.strip()}"\n    until: {{ for: 1h }}\n')
    options = ["--no-baselines", "--runs", "1", "--warmup", "0"]
    with server(program, "--posts", "500") as url:
        batch = f"{url}?delay=40&every=6&status=422&key=batch"
        run("batch", "run", "nightly.batch.yaml", "--endpoint", batch, statuses=(1,))
        run("batch", "run", "empty.batch.yaml", "--endpoint", url)
        run("profile", "--generate", "feed:250", "--store", "memory", "--store", "sqlite", "--runs", "3",
            "--html", "profile-file.html")
        run("profile", "--endpoint", url, "--document", "feed.graphql", "--var", "first=300", *options,
            "--html", "profile-fetch.html")
        load = ["profile", "--endpoint", url, "--document", "feed.graphql", "--var", "first=2"]
        run(*load, "--rate", "100", "--duration", "3s", "--budget", "failed<=1%", "--html", "profile-load.html")
        run(*load[:2], f"{url}?every=3&status=503&key=load", *load[3:], "--stages", "1s:0..100,2s:100",
            "--budget", "failed<=1%", "--html", "profile-stages.html", statuses=(1,))
        run("profile", "--endpoint", f"{url}?status=503", "--document", "feed.graphql", "--var", "first=2", "--rate", "50",
            "--duration", "2s", "--html", "profile-outage.html", statuses=(1,))
        run("profile", "--endpoint", url, "--manifest", "load.batch.yaml", "--weight", "countries=3", "--concurrency", "4",
            "--duration", "2s", "--html", "profile-batch.html")
        run("profile", "--endpoint", url, "--document", "events.graphql", "--subscribe", "--concurrency", "3",
            "--duration", "2s", "--budget", "events>=10", "--html", "profile-events.html")
    return {path.stem: path for path in sorted(folder.glob("*.html"))}


# What is wrong with the open page, as texts. Boxes that scroll may be wider than the page, and so may their content.
FAULTS = r"""
() => {
  const faults = [];
  const seen = element => {
    const label = element.getAttribute("class") || element.textContent.trim().slice(0, 40);
    return `<${element.localName}> ${label}`;
  };
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > window.innerWidth)
    faults.push(`the page is ${document.documentElement.scrollWidth} px wide`);
  const scrolls = element => {
    const style = getComputedStyle(element);
    return ["auto", "scroll"].includes(style.overflowX) || ["auto", "scroll"].includes(style.overflowY);
  };
  const isHidden = element => element.closest(".hidden") ||
    getComputedStyle(element).clipPath !== "none" || (element.parentElement && isHidden(element.parentElement));
  const color = text => {
    const found = text.match(/[\d.]+/g).map(Number);
    return { rgb: found.slice(0, 3), alpha: found.length > 3 ? found[3] : 1 };
  };
  const light = rgb => {
    const [r, g, b] = rgb.map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [low, high] = [light(a), light(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  const background = element => {
    for (let at = element; at; at = at.parentElement) {
      const found = color(getComputedStyle(at).backgroundColor);
      if (found.alpha === 1) return found.rgb;
    }
    return matchMedia("print").matches || !matchMedia("(prefers-color-scheme: dark)").matches ? [255, 255, 255] : [0, 0, 0];
  };
  for (const element of document.body.querySelectorAll("*")) {
    const box = element.getBoundingClientRect();
    const style = getComputedStyle(element);
    if (["script", "style", "title", "desc"].includes(element.localName) || style.display === "none" || isHidden(element))
      continue;
    const isScrolled = (() => {
      for (let at = element.parentElement; at; at = at.parentElement) if (scrolls(at)) return true;
    })();
    if (box.width > 0 && !isScrolled && (box.left < -1 || box.right > width + 1))
      faults.push(`outside of the page: ${seen(element)}`);
    if (style.overflowX === "hidden" && element.scrollWidth > element.clientWidth + 1 && element.textContent.trim())
      faults.push(`cut: ${seen(element)}`);
    if (scrolls(element) && !(element.tabIndex === 0 && element.getAttribute("role") && element.getAttribute("aria-label")))
      faults.push(`scrolls, and is no region for the keyboard: ${seen(element)}`);
    const owns = [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
    if (!owns) continue;
    const ratioOf = (ink, paper) => {
      const ratio = contrast(color(ink).rgb, paper);
      if (ratio < 4.5) faults.push(`contrast ${ratio.toFixed(2)}: ${seen(element)}`);
    };
    if (!(element instanceof SVGElement)) { ratioOf(style.color, background(element)); continue; }
    if (element.localName !== "text") continue;
    const drawing = element.ownerSVGElement.getBoundingClientRect();
    if (box.left < drawing.left - 1 || box.right > drawing.right + 1 || box.top < drawing.top - 1 || box.bottom > drawing.bottom + 1)
      faults.push(`cut by its drawing: ${seen(element)} ${element.textContent}`);
    // The last shape before the text, below its middle, is what it is read on.
    const [x, y] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
    const shapes = [...element.ownerSVGElement.querySelectorAll("rect")].filter(shape => {
      const at = shape.getBoundingClientRect();
      return shape.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING &&
        at.left <= x && x <= at.right && at.top <= y && y <= at.bottom;
    });
    const shape = shapes.at(-1);
    if (shape) {
      const at = shape.getBoundingClientRect();
      if (box.left < at.left - 1 || box.right > at.right + 1) faults.push(`crosses the end of its box: ${element.textContent}`);
    }
    ratioOf(style.fill, shape ? color(getComputedStyle(shape).fill).rgb : background(element.ownerSVGElement));
  }
  const texts = [...document.querySelectorAll("svg text")].filter(text => getComputedStyle(text).display !== "none")
    .map(text => [text, text.getBoundingClientRect(), text.ownerSVGElement]);
  texts.forEach(([text, a, drawing], index) => {
    for (const [other, b, owner] of texts.slice(index + 1))
      if (owner === drawing && Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4)
        faults.push(`"${text.textContent}" overlaps "${other.textContent}"`);
  });
  for (const drawing of document.querySelectorAll("svg"))
    if (!drawing.closest("[aria-hidden=true]") &&
        !(drawing.getAttribute("role") === "img" && drawing.getAttribute("aria-label") && drawing.querySelector(":scope > desc")))
      faults.push("a drawing has no role, name or description");
  for (const table of document.querySelectorAll("table"))
    if (!table.caption || !table.caption.textContent.trim()) faults.push(`a table has no caption: ${seen(table)}`);
  for (const head of document.querySelectorAll("th"))
    if (!["col", "row"].includes(head.scope)) faults.push(`a header has no scope: ${seen(head)}`);
  for (const [name, count] of [["main", 1], ["h1", 1], ["title", 1]])
    if (document.querySelectorAll(name === "title" ? "head > title" : name).length !== count) faults.push(`not one <${name}>`);
  if (!document.documentElement.lang) faults.push("the page has no language");
  const data = document.querySelectorAll("#gqlrun-data");
  try {
    if (data.length !== 1 || typeof JSON.parse(data[0].textContent) !== "object") faults.push("not one block of data");
  } catch (error) { faults.push(`the data are not JSON: ${error}`); }
  return faults;
}
"""


def check(browser, address, shots=None, name=""):
    """The faults of a page at all widths, in both schemes and printed, as a set of texts."""
    found = {}

    def add(where, faults):
        for fault in faults: found.setdefault(fault, where)

    for scheme in SCHEMES:
        for width in WIDTHS:
            where = f"{width} px, {scheme}"
            context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
            page = context.new_page()
            page.on("console", lambda message, where=where: add(where, [f"the console has: {message.text}"]))
            page.on("pageerror", lambda error, where=where: add(where, [f"an error: {error}"]))
            page.on("request", lambda request, where=where: request.url == address or add(where, [f"a request for {request.url}"]))
            page.goto(address)
            add(where, page.evaluate(FAULTS))
            if shots: page.screenshot(path=shots / f"{name}-{width}-{scheme}.png", full_page=True)
            if width == WIDTHS[1]:
                page.emulate_media(media="print")
                add(f"{width} px, {scheme}, printed", page.evaluate(FAULTS))
                if shots: page.screenshot(path=shots / f"{name}-print-{scheme}.png", full_page=True)
            context.close()
    return found


SOUND = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>t</title>
<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">
<style>body { margin: 0; background: #fff; color: #000 }</style></head><body><main><h1>t</h1>
<table><caption>c</caption><thead><tr><th scope="col">a</th></tr></thead><tbody><tr><td>1</td></tr></tbody></table>
<svg role="img" aria-label="s" width="100%" height="30"><desc>d</desc><rect width="100%" height="30" fill="#000"/>
<text x="5" y="20" fill="#fff">inside</text></svg><p>text</p></main>
<script type="application/json" id="gqlrun-data">{"a": 1}</script></body></html>"""
# A fault in the page above: what is replaced, by what, and the text that the check has for it.
CONTROLS = [
    ("<p>text", '<p style="width: 2000px">text', "px wide"),
    ("<p>text", '<p style="position: absolute; left: -50px">text', "outside of the page"),
    ("<p>text", '<p style="width: 20px; overflow: hidden; white-space: nowrap">a long text', "cut: "),
    ("<p>text", '<p style="overflow: auto">text', "no region for the keyboard"),
    ("<p>text", '<p style="color: #999">text', "contrast"),
    ('fill="#fff">inside', 'fill="#333">inside', "contrast"),
    ('x="5" y="20" fill="#fff">inside', 'x="-30" y="20" fill="#fff">inside', "cut by its drawing"),
    ('<rect width="100%"', '<rect width="30"', "crosses the end"),
    ("inside</text>", 'inside</text><text x="9" y="20" fill="#fff">again</text>', "overlaps"),
    (' aria-label="s"', "", "no role, name"),
    ("<desc>d</desc>", "", "description"),
    (' scope="col"', "", "no scope"),
    ("<caption>c</caption>", "", "no caption"),
    ("<main>", "<div>", "not one <main>"),
    (' lang="en"', "", "no language"),
    ('{"a": 1}', '{"a": </', "not JSON"),
    (' id="gqlrun-data"', "", "not one block"),
    ("<p>text", '<img src="https://gqlrun.invalid/x.png" alt=""><p>text', "a request for"),
    ("<p>text", "<script>throw new Error('x')</script><p>text", "an error"),
    ("<p>text", "<script>console.log('x')</script><p>text", "the console has"),
]


def self_check(browser, folder):
    """The faults that the checks do not find, and what they find in a sound page."""
    path = folder / "control.html"
    missed = []
    path.write_text(SOUND)
    missed += [f"found in a sound page: {fault}" for fault in check(browser, path.as_uri())]
    for old, new, expected in CONTROLS:
        assert SOUND.count(old) == 1, old
        path.write_text(SOUND.replace(old, new))
        if not any(expected in fault for fault in check(browser, path.as_uri())): missed.append(f"not found: {expected} ({new})")
    path.unlink()
    return missed


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("program")
    parser.add_argument("--screenshots", type=pathlib.Path)
    parser.add_argument("--only")
    options = parser.parse_args()
    if options.screenshots: options.screenshots.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as play, tempfile.TemporaryDirectory() as folder:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        missed = self_check(browser, pathlib.Path(folder))
        for text in missed: print(f"self-check: {text}")
        pages = make(os.path.abspath(options.program), pathlib.Path(folder))
        faults = 0
        for name, path in pages.items():
            if options.only and options.only not in name: continue
            found = check(browser, path.as_uri(), options.screenshots, name)
            for fault, where in found.items(): print(f"{name}: {fault} ({where})")
            print(f"{name}: {len(found) or 'no'} faults", flush=True)
            faults += len(found)
        browser.close()
    sys.exit(1 if faults or missed else 0)


if __name__ == "__main__":
    main()
