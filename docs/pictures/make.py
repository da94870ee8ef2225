#!/usr/bin/env python3
"""Makes the pictures of README.md, each for light and for dark pages, beside this script.

    make.py GQLRUN    the chain, by `gqlrun pipeline graph --svg`, and a report of `gqlrun profile`, as Chromium shows it

CHROMIUM is the browser; without it, `chromium` or `google-chrome` of PATH. Pictures of a page have at most 64 colors, so
that they are small.
"""
import collections, os, pathlib, re, shutil, struct, subprocess, sys, tempfile, zlib

FOLDER = pathlib.Path(__file__).resolve().parent
SCHEMES = ("light", "dark")
# The size of the picture of a page, whose beginning it shows.
WIDTH, HEIGHT = 1000, 640
COLORS = 64
MAX_BYTES = 60_000

def write(name, data):
    assert len(data) < MAX_BYTES, f"{name} has {len(data)} bytes; at most {MAX_BYTES} load quickly"
    (FOLDER / name).write_bytes(data)
    print(f"{name}: {len(data)} bytes")

def chain(program, folder):
    """The chain of the pipeline file in README.md, with the colors of one scheme for each picture."""
    readme = (FOLDER.parent.parent / "README.md").read_text()
    file = re.search(r"`countries\.pipeline\.yaml`:\n\n```yaml\n(.*?)```", readme, re.S)[1]
    (folder / "countries.pipeline.yaml").write_text(file)
    drawing = subprocess.run([program, "pipeline", "graph", "--svg", "countries.pipeline.yaml"], cwd=folder,
                             check=True, stdout=subprocess.PIPE, text=True).stdout
    query = "@media (prefers-color-scheme: dark)"
    assert drawing.count(query) == 1, "the drawing has no colors of its own for dark pages"
    for scheme, media in zip(SCHEMES, ("not all", "all")):
        write(f"chain-{scheme}.svg", drawing.replace(query, f"@media {media}").encode())

def report(program, folder):
    """The beginning of a report."""
    browser = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if not browser: sys.exit("make.py: Chromium is not installed: apt-get install chromium, or CHROMIUM=PATH")
    subprocess.run([program, "profile", "--generate", "feed:2500", "--store", "memory", "--store", "sqlite",
                    "--runs", "3", "--html", "report.html"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    for scheme, number in zip(SCHEMES, (1, 0)):
        picture = folder / f"{scheme}.png"
        subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                        f"--window-size={WIDTH},{HEIGHT}", f"--blink-settings=preferredColorScheme={number}",
                        f"--screenshot={picture}", (folder / "report.html").as_uri()],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        write(f"report-{scheme}.png", smaller(picture.read_bytes()))

def smaller(data):
    """The same picture with a palette of its most frequent colors."""
    width, height, rows = pixels(data)
    counts = collections.Counter(color for row in rows for color in row)
    palette = [color for color, _ in counts.most_common(COLORS)]
    def nearest(color):
        return min(range(len(palette)), key=lambda i: sum((a - b) ** 2 for a, b in zip(color, palette[i])))
    index = {color: nearest(color) for color in counts}
    packed = b"".join(b"\0" + bytes(index[color] for color in row) for row in rows)
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0))
            + chunk(b"PLTE", bytes(part for color in palette for part in color))
            + chunk(b"IDAT", zlib.compress(packed, 9)) + chunk(b"IEND", b""))

def pixels(data):
    """Width, height and rows of colors of a PNG with 8 bits for each channel, as Chromium writes it."""
    offset, packed = 8, b""
    while offset < len(data):
        size, kind = struct.unpack(">I4s", data[offset:offset + 8])
        content = data[offset + 8:offset + 8 + size]
        offset += 12 + size
        if kind == b"IHDR":
            width, height, depth, color, *_ = struct.unpack(">IIBBBBB", content)
            assert depth == 8 and color in (2, 6), "the screenshot has an unexpected format"
            step = 3 if color == 2 else 4
        if kind == b"IDAT": packed += content
    raw, size, before, rows = zlib.decompress(packed), width * step, bytes(width * step), []
    for y in range(height):
        kind, line = raw[y * (size + 1)], bytearray(raw[y * (size + 1) + 1:(y + 1) * (size + 1)])
        # https://www.w3.org/TR/png/#9Filters
        for i in range(size):
            left, above = line[i - step] if i >= step else 0, before[i]
            corner = before[i - step] if i >= step else 0
            if kind == 1: line[i] = (line[i] + left) & 255
            elif kind == 2: line[i] = (line[i] + above) & 255
            elif kind == 3: line[i] = (line[i] + (left + above) // 2) & 255
            elif kind == 4:
                guess = left + above - corner
                line[i] = (line[i] + min((left, above, corner), key=lambda value: abs(guess - value))) & 255
        rows.append([tuple(line[i:i + 3]) for i in range(0, size, step)])
        before = line
    return width, height, rows

if len(sys.argv) != 2: sys.exit(__doc__)
with tempfile.TemporaryDirectory() as name:
    program, folder = os.path.abspath(sys.argv[1]), pathlib.Path(name)
    chain(program, folder)
    report(program, folder)
