#!/usr/bin/env python3
"""trees.py PROGRAM [--cases N] [--seed S] [--case N] [--jobs N]: extracts random trees of connections, and compares every
row with what the server has.

Each case has a schema, a document and data of its own: see tree_rig.py. The server finds objects through `node`, `nodes` or
a field with a key argument; it is slow, busy or strict, fails for a while, or moves rows from page to page. The tables must
be complete, with as few requests as possible; where the server never gives a page, the program must fail, and have all the
rest. Ends with 1 when a case is wrong. --case repeats one case and keeps its folder.
"""
import argparse, collections, concurrent.futures, json, multiprocessing, os, re, shutil, subprocess, sys, tempfile, time
import urllib.request

from common import expect, main
from graphql_rig import HTTPServer
from tree_rig import Case, compare


def serve(seed, pipe):
    """One process for all cases."""
    cases = {}

    async def answer(path, request):
        _, what, number = path.split("/")
        case = cases.get(number) or cases.setdefault(number, Case(seed, int(number)))
        if what == "graphql":
            return await case.answer(request)
        case.is_healed = case.is_healed or what == "heal"
        return 200, {}, {"requests": case.requests, "throttled": case.throttled}

    pipe.send(HTTPServer(answer).url)
    pipe.recv()


class Extraction:
    """The extraction of one case, in a folder of its own."""

    def __init__(self, program, url, case):
        self.program, self.url, self.case = program, url, case
        self.folder = tempfile.mkdtemp(prefix=f"trees-{case.number}-")
        with open(f"{self.folder}/q.graphql", "w") as file:
            file.write(case.document)

    @property
    def command(self):
        case = self.case
        target = ["sqlite:out.db"] if case.format == "sqlite" else ["out/", "--format", case.format]
        command = [self.program, "extract", "q.graphql", "-e", f"{self.url}/graphql/{case.number}", "--to", *target]
        for name, value in case.variables.items():
            command += ["--var", f"{name}={value}"]
        if case.mode == "code":
            command += [part for kind in case.kinds if kind.key for part in ("--keys", f"{kind.name}=code")]
        if case.end != "shared":
            command += [part for name in case.shared for part in ("--shared", name)]
        if case.weather == "metered":
            command += ["--rate-limit", "shopify"]
        if case.pack:
            command += ["--pack", str(case.pack)]
        if case.concurrency:
            command += ["--concurrency", str(case.concurrency)]
        return command

    def run(self, *more):
        return subprocess.run(self.command + [*more], cwd=self.folder, capture_output=True, text=True, timeout=60)

    def ask(self, what):
        with urllib.request.urlopen(f"{self.url}/{what}/{self.case.number}") as response:
            return json.load(response)

    def check(self):
        """Runs the case; returns the numbers of rows, of requests, and of the least possible requests if they count."""
        case, end = self.case, self.case.end
        result = self.run()
        stats = self.ask("stats")
        requests = stats["requests"]
        text = result.stderr
        if case.weather == "faulty" and "incomplete" in text:
            # A page may have several faults, one after the other.
            result = self.run("--resume")
        if end == "well":
            expect(result.returncode == 0, f"exit {result.returncode}: {text}")
            rows = compare(case, self.folder)
            reported = re.search(r"([\d,]+) requests? \(least possible ([\d,]+)\)", text)
            expect(reported, f"no number of requests: {text}")
            expect(stats["throttled"] == 0, f"{stats['throttled']} requests were throttled")
            if case.weather not in ("clear", "slow"):
                return rows, requests, None
            expect(int(reported[1].replace(",", "")) == requests, f"{requests} requests came, and {reported[1]} are reported")
            expect(requests <= 1.2 * case.least + 1, f"{requests} requests, and {case.least} would be enough")
            return rows, requests, case.least
        expect(result.returncode not in (0, -6, -11), f"{end}: exit {result.returncode}: {text}")
        if end == "unreachable":
            expect(requests == 0, f"{requests} requests were sent before the error: {text}")
            nested = [each for kind in case.kinds for each in kind.below() if each.size]
            expect(any((each.alias or each.name) in text for each in nested), f"the error names no connection: {text}")
            return 0, requests, None
        if end == "shared":
            expect(any(name in text for name in case.shared) and "shared" in text, f"the error names no table: {text}")
            return 0, requests, None
        expect("incomplete" in text, f"{end}: {text}")
        if end == "circle":
            return compare(case, self.folder, is_subset=True), requests, None
        rows = compare(case, self.folder)
        if end != "cursorless":
            # The server recovers.
            self.ask("heal")
            case.is_healed = True
            result = self.run("--resume")
            expect(result.returncode == 0, f"after {end}, --resume exits {result.returncode}: {result.stderr}")
            rows = compare(case, self.folder)
        return rows, requests, None


def torture():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", default=str(int(time.time())))
    parser.add_argument("--case", type=int)
    parser.add_argument("--failures", type=int, default=10, help="after so many, it ends")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args()
    program = os.path.abspath(given.program)
    here, there = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(given.seed, there), daemon=True)
    server.start()
    url = here.recv()
    kinds, totals, worst, failures = collections.Counter(), collections.Counter(), (0, None), []

    def run(number):
        case = Case(given.seed, number)
        extraction = Extraction(program, url, case)
        try:
            found = extraction.check()
        except Exception as failure:
            # What the program wrote may have any form.
            return case, f"case {number} ({case.mode}, {case.weather}, {case.end}, {case.format}): {failure!r}; see {extraction.folder}"
        if given.case is None:
            shutil.rmtree(extraction.folder)
        else:
            print(" ".join(extraction.command), extraction.folder)
        return case, found

    print(f"seed {given.seed}", flush=True)
    start = time.monotonic()
    numbers = range(given.cases) if given.case is None else [given.case]
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        for case, found in pool.map(run, numbers):
            if isinstance(found, str):
                failures.append(found)
                print(f"FAILED: {found}", file=sys.stderr, flush=True)
                if len(failures) == given.failures:
                    pool.shutdown(cancel_futures=True)
                    break
                continue
            rows, requests, least = found
            kinds["hidden schema" if case.hides_schema else case.mode] += 1
            kinds[case.weather if case.end == "well" else case.end] += 1
            totals["rows"] += rows
            if least:
                totals["requests"] += requests
                totals["least"] += least
                worst = max(worst, (requests / least, case.number))
    print(f"{sum(kinds.values()) // 2} cases, {totals['rows']} rows, {time.monotonic() - start:.0f} s: "
          + ", ".join(f"{name} {count}" for name, count in kinds.most_common()))
    if totals["least"]:
        ratio = totals["requests"] / totals["least"]
        print(f"{totals['requests']} requests where {totals['least']} are the least: {ratio:.3f}; "
              f"{worst[0]:.2f} in case {worst[1]}")
        expect(ratio <= 1.2 or failures, "too many requests (at most 1.2 times the least)")
    expect(not failures, f"{len(failures)} cases are wrong")


if __name__ == "__main__":
    main(torture)
