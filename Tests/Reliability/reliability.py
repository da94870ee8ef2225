#!/usr/bin/env python3
"""Keeps the figures of docs/reliability.md: how much the long checks did, with what result, when, at which revision.

    reliability.py [--revision REVISION] LOG…    takes the figures of logs, and writes the page
    reliability.py --minutes N                   runs the checks for N minutes, with their builds, then does the same
    reliability.py --check                       exit code 1 if the page has other figures than docs/reliability.json

A log is what `make fuzz`, `make model`, … print on this machine; one file may have several of them. A check prints the
lines that are read here when it has passed, so one that failed or was interrupted leaves its figures as they were. `make fuzz`,
`make scaling`, `make test-pages` and `make test` also have lines of what failed, which is counted. The figures of a check in
several logs are added; their date is that of the newest of these files, and their revision is that of the work tree,
if none is given. docs/reliability.json has the last figures of each check, null for one without figures.

A new check needs an entry in FIGURES, a comment with its key on the page, `null` in docs/reliability.json, and lines in both
parts of sample.log.
"""
import argparse
import dataclasses
import datetime
import json
import os
import pathlib
import platform
import re
import signal
import string
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE, DATA = ROOT / "docs/reliability.md", ROOT / "docs/reliability.json"
LOGS = ROOT / ".build-reliability"

# The end of `swift test`: the next run that is reported passed.
PASSED = r"(?:(?!Test run with)[\s\S])*?Test run with \d+ tests? in \d+ suites? passed"
LAW = r" +[\d,]+ +[\d.]+ +[\d.]+ +[\d.]+"
SUITE = r"Test run with (?P<tests>\d{4,}) tests in (?P<suites>\d+) suites "
# These are the size of one run: the largest counts, not their sum.
SIZES = {"tests", "suites"}


@dataclasses.dataclass
class Figure:
    """What is read of one check. The first pattern must match; numbers of named groups are added, other texts are counted."""
    # What is counted, for the page before there are figures.
    subject: str
    command: str
    # A file of the check, and a text in it that the patterns rely on.
    source: tuple
    patterns: list
    text: str
    # Logs with this text are not read.
    unless: str = "\0"


FIGURES = {
    "fuzz": Figure(
        "executions", "make fuzz", ("Tests/Fuzz/run.py", '"  {:14} {:>10} {:>12} {:>9} {:>7} {:>9}"'),
        [r"^  (?P<targets>[\w-]+) +(?P<executions>\d+) +\d+ +\d+ +\d+ +(?P<findings>\d+)$"],
        "{executions} executions of {targets} targets, {findings} findings"),
    "model": Figure(
        "histories", "make model", ("Makefile", "GQLRUN_HISTORIES=$(HISTORIES)"),
        [r"GQLRUN_HISTORIES=(?P<histories>\d+)" + PASSED], "{histories} histories of each kind, no fault"),
    "differential": Figure(
        "cases", "make differential", ("Tests/Differential/run.sh", 'echo "differential: no difference"'),
        [r"^differential: (?P<cases>\d+) cases of (?:(?!^differential: \d)[\s\S])*?^differential: no difference$"],
        "{cases} cases, no difference"),
    "parts": Figure(
        "seeds", "make differential-parts", ("Tests/Differential/parts.sh", "no difference in $GQLRUN_SEEDS seeds of $GQLRUN_CASES operations"),
        [r"^differential-parts: no difference in (?P<seeds>\d+) seeds of \d+ operations"], "{seeds} seeds, no difference"),
    "kill": Figure(
        "kills of imports", "make torture", ("Tests/Torture/kill.py", "kill -9: {killed} during writes, seed"),
        [r"^kill -9: (?P<kills>\d+) during writes, seed"], "{kills} kills of imports, each response complete or absent"),
    "powercut": Figure(
        "power cuts during imports", "make torture", ("Tests/Torture/powercut.py", "power cuts: {count}, seed {seed}; every time"),
        [r"^power cuts: (?P<cuts>\d+), seed \d+; every time"], "{cuts} power cuts during imports, each time one response complete"),
    "calls": Figure(
        "failing calls of commands", "make torture-faults", ("Tests/Torture/faults.py", 'faults, {failed:5} failed, {made - failed:5} went through'),
        [r"^(?P<commands>\S.*?) +(?P<calls>\d+) faults, +\d+ failed, +\d+ went through$", r"^  FOUND (?P<broken>.*?): \d+ times"],
        "{calls} failing calls of {commands} commands, {broken} rules broken"),
    "leaks": Figure(
        "operations in one process", "make torture-leaks", ("Tests/Torture/leaks.py", "{requests(folder, seconds):9} {seconds:5.0f}s"),
        [r"^(?P<cases>(?!control)\S.*?) +(?P<operations>\d+) +\d+s( +[\d.]+){4}", r"^(?P<grown>(?!control)\S.*?) +\d+ +\d+s( +[\d.]+){4} +\w+"],
        "{operations} operations in {cases} cases, {grown} grew"),
    "damaged": Figure(
        "damaged databases", "make torture", ("Makefile", "GQLRUN_DAMAGED=$(DAMAGED)"),
        [r"GQLRUN_DAMAGED=(?P<databases>\d+)" + PASSED], "{databases} damaged databases, no crash, no wrong value"),
    "batch-kill": Figure(
        "kills of batches", "make torture-batch", ("Tests/Torture/batch-kill.py", "run {runs}: {kills_here} kills, every result once"),
        [r"^run \d+: (?P<kills>\d+) kills, every result once"], "{kills} kills of batches, every result once"),
    "batch-allocations": Figure(
        "batches out of memory", "make torture-batch", ("Tests/Torture/batch-faults.py", "failing allocations: {count}, seed"),
        [r"^failing allocations: (?P<allocations>\d+), seed"], "{allocations} batches out of memory"),
    "batch-disks": Figure(
        "batches on full disks", "make torture-batch", ("Tests/Torture/batch-faults.py", "full disks: 6; {stopped} runs stopped"),
        [r"^full disks: \d+; (?P<runs>\d+) runs stopped"], "{runs} batches stopped by a full disk"),
    "batch-powercut": Figure(
        "power cuts during batches", "make torture-batch", ("Tests/Torture/batch-faults.py", "power cuts: {count}, seed {seed}; {runs} runs ended"),
        [r"^power cuts: (?P<cuts>\d+), seed \d+; \d+ runs ended"], "{cuts} power cuts during batches, no task lost"),
    "trees": Figure(
        "random trees of connections", "make torture-batch", ("Tests/Torture/trees.py", "cases, {totals['rows']} rows, "),
        [r"^(?P<cases>\d+) cases, \d+ rows, \d+ s: (?![\s\S]*cases are wrong)"], "{cases} random trees of connections extracted"),
    "extract": Figure(
        "kills of `extract`", "make torture-batch", ("Tests/Torture/extract.py", "{kind.__name__}: killed at each of {count} pages; the same rows"),
        [r"^(?P<targets>\w+): killed at each of \d+ pages; the same rows"], "`extract` killed at each page, {targets} kinds of target"),
    "cluster": Figure(
        "kills of queue workers", "make torture-cluster", ("Tests/Torture/cluster.py", "so far {dict(totals)}"),
        # The last round of a log has the totals.
        [r"^round \d+: every result once, .*'kills': (?P<kills>\d+)(?![\s\S]*^round \d+: every)"],
        "{kills} kills of queue workers, every result once"),
    "live": Figure(
        "cut connections", "make torture-live", ("Tests/Torture/live.py", "{cuts} cuts, {count} subscriptions: {events} events, {gaps} gaps"),
        [r"^(?P<cuts>\d+) cuts, (?P<subscriptions>\d+) subscriptions: \d+ events"],
        "{cuts} cut connections, no event twice, each gap announced"),
    "scaling": Figure(
        "laws", "make scaling", ("Tests/Scaling/scaling.py", "{'2n / n':>7} {'4n / 2n':>7}"),
        [r"^(?P<laws>\S.*?)" + LAW + r"(?:  \w+)?$", r"^(?P<broken>\S.*?)" + LAW + "  broken$",
         r"^(?P<exceptions>\S.*?)" + LAW + "  exception$"],
        "{laws} laws, {broken} broken, {exceptions} with another bound"),
    "load": Figure(
        "loads with known stalls", "make test-load", ("Tests/Load/stalls.py", '"all checks passed"'), [r"^(?P<passed>all checks passed)$"],
        "all checks of loads with known stalls passed"),
    "pages": Figure(
        "kinds of pages", "make test-pages", ("Tests/Browser/pages.py", "{name}: {len(found) or 'no'} faults"),
        [r"^(?P<pages>(?!inspect)\S.*?): (?:no|\d+) faults$", r"^(?!inspect)\S.*?: (?P<faults>\d+) faults$"],
        "{pages} kinds of pages, {faults} faults"),
    "suite": Figure(
        "runs", "make test", (".ci/test", '"$@" 2>&1 | tee "$log"'),
        [SUITE + r"(?:passed|failed) after (?P<runs>[\d.]+ s)econds", SUITE + r"failed after (?P<failed>[\d.]+ s)econds"],
        "{tests} tests in {suites} suites; runs: {runs}, failed: {failed}", unless="--sanitize="),
    "thread": Figure(
        "thread sanitizer", "make test-sanitized", ("Makefile", "--sanitize=$(SANITIZER)"),
        [r"--sanitize=thread(?:(?!Test run with)[\s\S])*?" + SUITE + "passed", r"^SUMMARY: ThreadSanitizer: (?P<reports>.*)$"],
        "thread sanitizer: {tests} tests, {reports} reports"),
    "address": Figure(
        "address sanitizer", "make test-sanitized SANITIZER=address", ("Makefile", "--sanitize=$(SANITIZER)"),
        [r"--sanitize=address(?:(?!Test run with)[\s\S])*?" + SUITE + "passed", r"^SUMMARY: AddressSanitizer: (?P<reports>.*)$"],
        "address sanitizer: {tests} tests, {reports} reports"),
    "lines": Figure(
        "lines", "make figures", ("Tests/Figures/figures.py", "lines of code in `Tests`, without generated files"),
        [r"^\| lines of code in `Sources` \| (?P<sources>[\d,]+) \|$",
         r"^\| lines of code in `Tests`, without generated files \| (?P<lines>[\d,]+) \|$",
         r"^\| lines of transcripts of commands, in `Tests/Transcripts` \| (?P<transcripts>[\d,]+) \|$"],
        "{lines} lines of Swift in `Tests` and {transcripts} of transcripts for {sources} in `Sources`"),
}

# What `--minutes` runs, in this order, with the sizes for a minute of the whole.
RUNS = [
    ("fuzz", {"SECONDS": 15}), ("model", {"HISTORIES": 20}), ("torture", {"KILLS": 3, "POWER_CUTS": 1, "DAMAGED": 20}),
    ("torture-batch", {"BATCH_KILLS": 1, "BATCH_TREES": 5}),
    ("torture-faults", {"FAULTS": 0.3}), ("torture-leaks", {"OPERATIONS": 10000}), ("torture-cluster", {"KILLS": 3}), ("torture-live", {"CUTS": 10}),
    ("test-load", {}), ("test-pages", {}), ("figures", {}), ("differential", {}), ("differential-parts", {"SEEDS": 5}), ("test", {}),
    ("test-sanitized", {}), ("scaling", {}),
]


def counts(figure, texts):
    """The counts of a check in the texts of logs, or None if it is in none of them."""
    names = [name for pattern in figure.patterns for name in re.compile(pattern).groupindex]
    found = {name: [] for name in names}
    for pattern in figure.patterns:
        for text in texts:
            for match in re.finditer(pattern, text, re.MULTILINE):
                for name, value in match.groupdict().items():
                    found[name].append(value)
        if not any(found.values()):
            return None
    used = {name for _, name, _, _ in string.Formatter().parse(figure.text) if name}
    result = {}
    for name in names:
        numbers = [int(value.replace(",", "")) for value in found[name] if re.fullmatch(r"[\d,]+", value)]
        if name in used:
            result[name] = (max if name in SIZES else sum)(numbers) if numbers else len(set(found[name]))
    return result


def read(paths, revision):
    """The figures of the checks in logs."""
    logs = [(path, pathlib.Path(path).read_text(errors="replace")) for path in paths]
    figures = {}
    for key, figure in FIGURES.items():
        having = [(path, text) for path, text in logs if figure.unless not in text and counts(figure, [text]) is not None]
        if not having:
            continue
        newest = max(os.path.getmtime(path) for path, _ in having)
        figures[key] = {
            "command": figure.command, "revision": revision,
            "date": datetime.datetime.fromtimestamp(newest, datetime.timezone.utc).date().isoformat(),
            "machine": f"{os.cpu_count()} processors, {platform.machine()}, {platform.system()}",
            "counts": counts(figure, [text for _, text in having])}
    return figures


def rendered(figure, counts):
    return figure.text.format(**{name: f"{count:,}" for name, count in counts.items()})


def cell(key, entry):
    """The text of a figure on the page. A `remark` was written by hand, and ends with the next figures."""
    if entry is None:
        return f"{FIGURES[key].subject} not measured"
    remark = f" ({entry['remark']})" if "remark" in entry else ""
    return f"{rendered(FIGURES[key], entry['counts'])}{remark}, {entry['date']}" + (f", {entry['revision']}" if entry["revision"] else "")


def written(page, data):
    """The page with these figures, which are between comments with their keys."""
    marked = r"<!-- ([\w-]+) -->(.*?)<!-- / -->"
    keys = [key for key, _ in re.findall(marked, page)]
    if sorted(keys) != sorted(FIGURES) or data.keys() != FIGURES.keys():
        sys.exit(f"reliability: the page or docs/reliability.json has other checks than this script, each once: {sorted(FIGURES)}")
    return re.sub(marked, lambda match: f"<!-- {match[1]} -->{cell(match[1], data[match[1]])}<!-- / -->", page)


def run(minutes):
    """Runs the checks one after the other until the time is over; the paths of their logs, and what failed."""
    LOGS.mkdir(exist_ok=True)
    deadline = time.monotonic() + 60 * minutes
    paths, problems = [], []
    for target, sizes in RUNS:
        if time.monotonic() >= deadline:
            problems.append(f"make {target}: not run, because the {minutes:g} minutes are over")
            continue
        command = ["make", target, *(f"{name}={max(1, round(size * minutes))}" for name, size in sizes.items())]
        path = LOGS / f"{target}.log"
        print(f"reliability: {' '.join(command)}", flush=True)
        with open(path, "wb") as log:
            process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
            try:
                status = process.wait(max(0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGTERM)
                process.wait()
                problems.append(f"make {target}: stopped, because the {minutes:g} minutes are over")
                status = 0
        paths.append(path)
        if status:
            problems.append(f"make {target}: exit code {status}; its output is in {path.relative_to(ROOT)}")
    return paths, problems


def check(page, data):
    """Ends with what does not agree: the page and its data, the checks and the patterns, the patterns and a sample of a log."""
    problems = [
        f"{key}: {path} does not contain {part!r}, which the patterns of this script rely on"
        for key, (path, part) in ((key, figure.source) for key, figure in FIGURES.items())
        if part not in (ROOT / path).read_text()]
    sample = (pathlib.Path(__file__).parent / "sample.log").read_text()
    log, wanted = sample.split("\nFIGURES\n")
    for key, figure in FIGURES.items():
        found = counts(figure, [log])
        line = f"{key}: nothing" if found is None else f"{key}: {rendered(figure, found)}"
        if line not in wanted.splitlines():
            problems.append(f"sample.log: found {line!r}, which is not in its list of figures")
    if written(page, data) != page:
        problems.append("docs/reliability.md has other figures than docs/reliability.json: Tests/Reliability/reliability.py writes them")
    sys.exit("\n".join(problems) or 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", nargs="*", metavar="LOG")
    parser.add_argument("--revision")
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    page, data = PAGE.read_text(), json.loads(DATA.read_text())
    if options.check:
        check(page, data)
    paths, problems = run(options.minutes) if options.minutes else ([], [])
    paths += options.logs
    revision = options.revision or subprocess.run(
        ["git", "-C", ROOT, "describe", "--always", "--dirty"], check=True, capture_output=True, text=True).stdout.strip()
    figures = read(paths, revision)
    for key, entry in figures.items():
        print(f"reliability: {key}: {cell(key, entry)}")
    if paths and not figures:
        problems.append("no figures in these logs")
    data |= figures
    DATA.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n")
    PAGE.write_text(written(page, data))
    sys.exit("\n".join(f"reliability: {problem}" for problem in problems) or 0)


if __name__ == "__main__":
    main()
