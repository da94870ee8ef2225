#!/usr/bin/env python3
"""Draws kept results of benchmarks as SVG, with colors for light and dark pages.

    Benchmarks/pictures.py FOLDER FILE...    writes into FOLDER what the results (JSON) have:

    bench-ratio.svg    processor time over size, from `bench-peers`
    bench-peak.svg     peak memory over size, from `bench-peers`
    bench-batch.svg    requests per second over the delay of the server, from `bench-batch`, a result for each delay

Marks are medians, with a line from the smallest to the largest value. The vertical axes are logarithmic.
"""
import html, json, math, os, sys

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 768, 420, 84, 190, 66, 56
LABEL_HEIGHT = 17
# The name of a series, its color, and whether its line is dashed.
SERIES = {
    "gqlrun-sqlite": ("gqlrun, SQLite", "blue", False), "gqlrun-memory": ("gqlrun, memory", "blue", True),
    "gql": ("gql, dictionary", "orange", False), "duckdb": ("DuckDB", "pink", False),
    "sqlite-utils": ("sqlite-utils", "green", False), "sqlite-utils-tables": ("sqlite-utils, four tables", "green", True),
    "batch": ("gqlrun batch run", "blue", False), "wrk": ("wrk", "gray", False), "python": ("Python, gql", "orange", False),
    "library": ("HTTP library alone", "blue", True),
}
COLORS = {  # on light and dark pages
    "page": ("#ffffff", "#0d1117"), "text": ("#1b1f24", "#e6edf3"), "gray": ("#59636e", "#9198a1"),
    "grid": ("#d8dee4", "#2a313c"), "blue": ("#0969da", "#4493f8"), "orange": ("#bc4c00", "#f0883e"),
    "green": ("#1a7f37", "#3fb950"), "pink": ("#bf3989", "#f778ba"),
}


def styles(scheme):
    colors = {name: pair[scheme] for name, pair in COLORS.items()}
    lines = [f".page {{ fill: {colors['page']}; }} text {{ fill: {colors['text']}; }} .soft {{ fill: {colors['gray']}; }} "
             f".grid {{ stroke: {colors['grid']}; }}"]
    for name in ("gray", "blue", "orange", "green", "pink"):
        lines.append(f".{name} {{ stroke: {colors[name]}; fill: {colors[name]}; }} "
                     f".hollow.{name} {{ fill: {colors['page']}; }}")
    return "\n".join(lines)


def ticks(low, high):
    """1, 2, 5, 10, … from the last one below `low` to the first one above `high`."""
    every = [step * 10.0**power for power in range(-3, 9) for step in (1, 2, 5)]
    first = max(index for index, value in enumerate(every) if value <= low)
    last = min(index for index, value in enumerate(every) if value >= high)
    return every[first:last + 1]


def apart(wanted):
    """The positions of labels, in order, near those wanted and not over each other."""
    groups = []
    for y in wanted:
        groups.append([y])
        while len(groups) > 1 and group_positions(groups[-1])[0] - group_positions(groups[-2])[-1] < LABEL_HEIGHT:
            groups[-2:] = [groups[-2] + groups[-1]]
    return [y for group in groups for y in group_positions(group)]


def group_positions(group):
    """Labels one below the other, in the middle of where they should be."""
    first = sum(group) / len(group) - LABEL_HEIGHT * (len(group) - 1) / 2
    return [first + LABEL_HEIGHT * index for index in range(len(group))]


def picture(title, subtitle, horizontal, unit, columns, series):
    """A chart: `unit` follows the numbers of the vertical axis, and `series` has for each name a
    spread for each of the columns, or None."""
    spreads = [spread for values in series.values() for spread in values if spread]
    marks = ticks(min(spread["minimum"] for spread in spreads), max(spread["maximum"] for spread in spreads))
    low, high = math.log(marks[0]), math.log(marks[-1])
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    step = (right - LEFT) / len(columns)

    def x(index):
        return LEFT + step * (index + 0.5)

    def y(value):
        return bottom - (math.log(value) - low) / (high - low) * (bottom - TOP)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
           f'role="img" aria-label="{html.escape(title)}">',
           "<style>\ntext { font: 13px system-ui, sans-serif; } .title { font-size: 16px; font-weight: 600; } "
           ".middle { text-anchor: middle; } .end { text-anchor: end; }",
           ".line { fill: none !important; stroke-width: 2; } .dashed { stroke-dasharray: 6 4; } .range { stroke-width: 1.5; } "
           ".leader { stroke-width: 1; opacity: 0.6; } circle { stroke-width: 2; }",
           styles(0), "@media (prefers-color-scheme: dark) {", styles(1), "}\n</style>",
           '<rect class="page" width="100%" height="100%"/>']

    def text(left, top, content, kind=""):
        out.append(f'<text x="{left:.1f}" y="{top:.1f}" class="{kind}">{html.escape(content)}</text>')

    def line(kind, *points):
        out.append(f'<path class="{kind}" d="M{" L".join(f"{left:.1f} {top:.1f}" for left, top in points)}"/>')

    text(16, 26, title, "title")
    text(16, 46, subtitle, "soft")
    for mark in marks:
        line("grid", (LEFT, y(mark)), (right, y(mark)))
        text(LEFT - 8, y(mark) + 4.5, f"{mark:,g}{unit}", "end soft")
    for index, column in enumerate(columns):
        text(x(index), bottom + 20, column, "middle soft")
    text((LEFT + right) / 2, HEIGHT - 12, horizontal, "middle")
    ends = []
    for name, values in series.items():
        _, color, dashed = SERIES[name]
        points = [(x(index), y(spread["median"]), spread) for index, spread in enumerate(values) if spread]
        line(f"line {color} {'dashed' if dashed else ''}", *(point[:2] for point in points))
        for left, top, spread in points:
            line(f"range {color}", (left, y(spread["minimum"])), (left, y(spread["maximum"])))
            out.append(f'<circle class="{color} {"hollow" if dashed else ""}" cx="{left:.1f}" cy="{top:.1f}" r="4"/>')
        ends.append((points[-1][1], points[-1][0], name))
    ends.sort()
    for (top, left, name), place in zip(ends, apart([end[0] for end in ends])):
        line(f"line leader {SERIES[name][1]}", (left + 7, top), (right - 8, place), (right + 4, place))
        text(right + 9, place + 4.5, SERIES[name][0])
    return "\n".join(out) + "\n</svg>\n"


def pictures(results):
    """The pictures by name. Of several results for one size or delay, the last is drawn."""
    peers = [result for result in results if result["format"] == "bench-peers/1"]
    responses = {response["posts"]: response for result in peers for response in result["responses"]}
    responses = [responses[count] for count in sorted(responses)]
    if responses:
        columns = [f"{response['bytes'] / 1e6:.{1 if response['bytes'] < 1e7 else 0}f} MB" for response in responses]
        for name, figure, unit, title in (
                ("ratio", "cpu_ratio", " ×", "Processor time to read a response, compared with json_verify"),
                ("peak", "peak_mib", " MiB", "Peak memory to read a response")):
            series = {row: [response["rows"][row][figure] for response in responses] for row in responses[0]["rows"]}
            yield f"bench-{name}.svg", picture(title, note(peers), "size of the response", unit, columns, series)
    batches = {result["delay_ms"]: result for result in results
               if result["format"] == "bench-batch/1" and result["delay_ms"] is not None}
    if len(batches) > 1:
        batches = [batches[delay] for delay in sorted(batches)]
        series = {row: [result["rates"].get(row) for result in batches]
                  for row in dict.fromkeys(row for result in batches for row in result["rates"])}
        yield "bench-batch.svg", picture(
            f"Requests per second, {batches[0]['concurrency']} at a time", note(batches),
            "delay of the server before each response", "/s", [f"{result['delay_ms']} ms" for result in batches], series)


def note(results):
    rounds = sorted({result["rounds"] for result in results})
    return f"medians, smallest and largest of {' and '.join(map(str, rounds))} rounds, {results[-1]['machine']}"


def main(folder, *paths):
    results = []
    for path in paths:
        with open(path) as file:
            results.append(json.load(file))
    for name, drawing in pictures(sorted(results, key=lambda result: result["date"])):
        with open(os.path.join(folder, name), "w") as file:
            file.write(drawing)
        print(f"{name}: {len(drawing.encode())} bytes")


if len(sys.argv) < 3:
    sys.exit(__doc__)
main(*sys.argv[1:])
