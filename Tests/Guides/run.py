#!/usr/bin/env python3
"""Executes pages of the documentation as they are, and compares the output that they show.

usage: run.py PROGRAM [PAGE...]        default: README.md, CONTRIBUTING.md and every page below docs/
       run.py PROGRAM --self-test      the pages of selftest/, each of which says how it must fail

Each page runs from top to bottom in a fresh folder, with one shell and an empty home folder. The blocks:

- sh: commands. The page fails at the first command that fails.
- console: commands after "$ " with their output. A command may fail if the next one is "$ echo $?".
- any other block after a paragraph that ends in "`NAME`:" is the file NAME. It may replace an earlier one.
- yaml that begins with "- ": entries of a chain; each one is checked with `gqlrun pipeline check`.
- swift: must be part of the file that the page names in the comment `<!-- swift: FILE -->`.
- a block below the comment `<!-- not run: REASON -->` is skipped, and the skip is reported.

Any other block is an error, so no block is skipped silently. The output that a page shows may have "…": alone
on a line for any lines, otherwise for any text. Durations, rates, sizes, shares, dates and identifiers are not
compared.
A free port replaces 4000, so that pages can run at the same time. A page with the comment `<!-- postgres -->` has a
PostgreSQL server of its own, which PGHOST, PGUSER and PGDATABASE name.
"""

import concurrent.futures
import dataclasses
import difflib
import json
import os
import pathlib
import random
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests" / "Torture"))
from cluster_rig import Postgres  # noqa: E402

# The port in the pages, and those that replace it: below the ports that the system gives to clients.
PORT = "4000"
PORTS = iter(random.sample(range(20000, 30000), 10000))
STEP_TIMEOUT = 120
# The chain that an entry must fit into, at one of its positions or instead of the entry of its name.
CHAIN = ["max-retry", "cache-read", "fetch", "response-code", "parse", "cache-write"]
# Files and variables that an entry names are the reader's.
OF_THE_READER = re.compile("there is no such file|the file does not exist|the variable `.*` is not set")

# What is not compared, in the shown and in the printed text. Runs of spaces become one space, because the widths of
# tables depend on the values.
MASKS = [
    (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?", "DATE"),
    (r"\b\d{8}-\d{6}(-\d+)?\b", "DATE"),
    (r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "ID"),
    (r"\b[0-9a-f]{16,64}\b", "ID"),
    (r"\b\d[\d,.]*\s?(bytes|[KMG]iB|[kKMG]?B)(/s)?(?![\w])", "SIZE"),
    (r"\b\d[\d,.]*\s?(µs|ms|s|m|h|min|seconds?|minutes?|hours?)(?![\w/])", "TIME"),
    (r"\b\d[\d,.]*/s\b", "RATE"),
    (r"\b\d[\d.]* %", "SHARE"),
    (r"\b\d[\d.]* x\b", "RATIO"),
    (r"\b(faster|slower|no difference shown)\b", "VERDICT"),
    (r"TIME( TIME|TIME)+", "TIME"),
]


class Failure(Exception):
    """Why a page fails, with the line of the page."""

    def __init__(self, line, message):
        super().__init__(message)
        self.line = line


@dataclasses.dataclass
class Block:
    language: str
    lines: list
    # The line of the opening fence, from 1.
    line: int
    # The name of the file that the block is, or None.
    file: str = None
    # Why the block is not run, or None.
    reason: str = None


def blocks_of(text):
    """The fenced blocks of a page."""
    blocks, block = [], None
    # The last line of text, and the comment after it, before the next block.
    last, comment = "", ""
    for number, line in enumerate(text.splitlines(), 1):
        if block is not None:
            if line == "```":
                blocks.append(block)
                block, last, comment = None, "", ""
            else:
                block.lines.append(line)
        elif line.lstrip().startswith("```"):
            if line.startswith(" "):
                raise Failure(number, "an indented block; begin it in the first column")
            named = re.search(r"`([\w.-]+(?:/[\w.-]+)*)`:$", last)
            reason = re.fullmatch(r"<!-- not run: (.+) -->", comment)
            block = Block(line[3:].strip(), [], number, named and named[1], reason and reason[1])
        elif line.startswith("<!--"):
            comment = line.strip()
        elif line.strip():
            last, comment = line.rstrip(), ""
    if block is not None:
        raise Failure(block.line, "a block without an end")
    return blocks


def masked(text):
    for pattern, name in MASKS:
        text = re.sub(pattern, name, text)
    return [re.sub(r"\s+", " ", line).rstrip() for line in text.rstrip().splitlines()]


def matches(shown, printed):
    """Whether the masked lines that a page shows match those that were printed."""
    pattern = ""
    for line in shown:
        if line.strip() == "…":
            pattern += r"(?:[^\n]*\n)*?"
        else:
            pattern += "[^\n]*?".join(re.escape(part) for part in line.split("…")) + "\n"
    return re.fullmatch(pattern, "".join(line + "\n" for line in printed)) is not None


def commands_of(block):
    """The commands of a console block: (line, command, shown output)."""
    commands = []
    continued = False
    for number, line in enumerate(block.lines, block.line + 1):
        if continued:
            commands[-1][1] += "\n" + line
        elif line.startswith("$ "):
            commands.append([number, line[2:], []])
        elif commands:
            commands[-1][2].append(line)
            continue
        else:
            raise Failure(number, "output before the first command; commands begin with \"$ \"")
        continued = line.endswith("\\")
    if not commands:
        raise Failure(block.line, "a console block without a command")
    return commands


def free_port():
    """A free port that no other page of this run has."""
    for port in PORTS:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port
    raise RuntimeError("no free port")


class Shell:
    """One bash, in the folder of a page. Its standard output is a file per step."""

    def __init__(self, folder, program, variables):
        self.folder = folder / "page"
        self.steps = folder / "steps"
        for path in [self.folder, self.steps, folder / "home", folder / "bin"]:
            path.mkdir()
        (folder / "bin" / "gqlrun").symlink_to(program)
        keep = {
            name: value for name, value in os.environ.items()
            if not name.startswith(("GQL", "XDG_", "GIT")) and not name.lower().endswith("_proxy")
        }
        self.environment = keep | {
            "HOME": str(folder / "home"),
            "PATH": f"{folder}/bin:{os.environ['PATH']}",
            "LC_ALL": "C.UTF-8",
        } | variables
        self.statuses, status = os.pipe()
        self.process = subprocess.Popen(
            ["bash", "--noprofile", "--norc"], cwd=self.folder, env=self.environment, text=True,
            stdin=subprocess.PIPE, pass_fds=[status], start_new_session=True)
        self.status = status
        self.count = 0
        self.last = 0

    def run(self, line, text, is_strict):
        """Runs a step in the shell itself; returns its exit status and what it printed."""
        self.count += 1
        step, output = self.steps / f"{self.count}", self.steps / f"{self.count}.out"
        # The lines of bash's messages are those of the page.
        step.write_text("\n" * (line - 1) + text + "\n")
        self.process.stdin.write(
            f"(exit {self.last}); {'set -e; ' if is_strict else ''}"
            f". {step} >{output} 2>&1 </dev/null {self.status}>&-; "
            f"printf '%s\\n' $? >&{self.status}; set +e\n")
        self.process.stdin.flush()
        self.last = self._status(line, output)
        return self.last, output.read_text(errors="replace")

    def _status(self, line, output):
        deadline = time.monotonic() + STEP_TIMEOUT
        while time.monotonic() < deadline:
            # A shell that ended, at a failing command or by `exit`, writes no status.
            ended = self.process.poll()
            if select.select([self.statuses], [], [], 0.05)[0]:
                return int(os.read(self.statuses, 16))
            if ended is not None:
                return ended or 1
        raise Failure(line, f"still running after {STEP_TIMEOUT} seconds:\n{output.read_text(errors='replace')}")

    def close(self):
        """Ends the shell and everything that it started."""
        for number in [signal.SIGTERM, signal.SIGKILL]:
            try:
                os.killpg(self.process.pid, number)
            except ProcessLookupError:
                break
            try:
                self.process.wait(timeout=2)
            except subprocess.TimeoutExpired:
                pass
        self.process.stdin.close()
        self.process.wait()
        os.close(self.statuses)
        os.close(self.status)


class Page:
    """A page and its run."""

    def __init__(self, path, program):
        self.path, self.program = path, program
        self.name = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name
        self.counts = {"commands": 0, "outputs": 0, "files": 0, "entries": 0, "swift": 0}
        self.skipped = []

    def run(self):
        """Runs the page; returns the failure, or None."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="guide-"))
        shell = postgres = None
        try:
            port = str(free_port())
            text = re.sub(rf"(--port |127\.0\.0\.1:|localhost:){PORT}\b", rf"\g<1>{port}", self.path.read_text())
            sources = "".join(
                (ROOT / name).read_text() for name in re.findall(r"^<!-- swift: (\S+) -->$", text, re.MULTILINE))
            variables = {}
            if "<!-- postgres -->" in text:
                postgres = Postgres()
                variables = {"PGHOST": postgres.folder, "PGUSER": "test", "PGDATABASE": "postgres"}
            shell = Shell(folder, self.program, variables)
            for block in blocks_of(text):
                self._run(block, shell, sources)
            return None
        except Failure as failure:
            return failure
        finally:
            if shell:
                shell.close()
            if postgres:
                postgres.close()
            shutil.rmtree(folder, ignore_errors=True)

    def _run(self, block, shell, sources):
        text = "".join(line + "\n" for line in block.lines)
        if not block.language:
            raise Failure(block.line, "a block without a language")
        if block.reason:
            self.skipped.append((block.line, block.reason))
        elif block.language == "sh":
            status, output = shell.run(block.line + 1, text, is_strict=True)
            self.counts["commands"] += len([line for line in block.lines if line.strip()])
            if status != 0:
                raise Failure(block.line, f"exit status {status} of:\n{text}{output}")
            self._wait_for_servers(block.line, text)
        elif block.language == "console":
            self._compare(commands_of(block), shell)
        elif block.file:
            target = shell.folder / block.file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
            self.counts["files"] += 1
        elif block.language == "yaml" and text.startswith("- "):
            self._check(block, text, shell)
        elif block.language == "swift":
            if stripped(text) not in stripped(sources):
                raise Failure(block.line, "the code is not in the files of the page's `<!-- swift: FILE -->`")
            self.counts["swift"] += 1
        else:
            raise Failure(
                block.line, f"a {block.language} block that is neither run nor a file; name its file in the line "
                "before (\"`NAME`:\"), or say why it is not run: <!-- not run: REASON -->")

    def _compare(self, commands, shell):
        following = [command for _, command, _ in commands[1:]] + [""]
        for (line, command, shown), next_command in zip(commands, following):
            status, output = shell.run(line, command, is_strict=False)
            self.counts["commands"] += 1
            self.counts["outputs"] += 1
            expected, printed = masked("\n".join(shown)), masked(output)
            if not matches(expected, printed):
                difference = "\n".join(list(difflib.unified_diff(
                    expected, printed, "shown", "printed", lineterm="", n=99))[2:])
                raise Failure(line, f"another output of `{command}`:\n{difference}\nIt printed:\n{output}")
            if status != 0 and next_command != "echo $?":
                raise Failure(
                    line, f"exit status {status} of `{command}`; a command that may fail is followed by "
                    f"\"$ echo $?\"\n{output}")
            self._wait_for_servers(line, command)

    def _wait_for_servers(self, line, text):
        """Waits until the servers that a step started in the background listen."""
        for port in re.findall(r"\bserve\b.*--port (\d+).*&\s*$", text, re.MULTILINE):
            deadline = time.monotonic() + 30
            while True:
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", int(port))) == 0:
                        break
                if time.monotonic() > deadline:
                    raise Failure(line, f"no server listens on port {port} after 30 seconds")
                time.sleep(0.02)

    def _check(self, block, text, shell):
        """Checks entries of a chain, each in every position of a whole chain; one must accept it."""
        entries = [entry for entry in re.split(r"(?m)^(?=- )", text) if entry]
        folder = shell.steps.parent / "entries"
        folder.mkdir(exist_ok=True)
        files = {}
        for number, entry in enumerate(entries):
            name = re.match(r"- ([\w-]+)", entry)[1]
            if name in CHAIN:
                chains = [[entry if other == name else f"- {other}\n" for other in CHAIN]]
            else:
                others = [f"- {other}\n" for other in CHAIN]
                chains = [others[:index] + [entry] + others[index:] for index in range(len(others))]
            for position, chain in enumerate(chains):
                file = folder / f"{number}.{position}.pipeline.yaml"
                file.write_text(
                    "version: 1\nendpoint: { url: \"http://127.0.0.1/graphql\" }\nstore: { kind: memory }\nchain:\n"
                    + re.sub(r"(?m)^", "  ", "".join(chain)).rstrip(" "))
                files.setdefault(number, []).append(file)
        command = [self.program, "pipeline", "check", "--format", "json"]
        command += [file for group in files.values() for file in group]
        done = subprocess.run(
            command, env=shell.environment, cwd=folder, capture_output=True, text=True, timeout=STEP_TIMEOUT)
        try:
            problems = [problem for problem in json.loads(done.stdout) if not OF_THE_READER.search(problem["message"])]
        except ValueError:
            raise Failure(block.line, f"`gqlrun pipeline check` printed no JSON:\n{done.stdout}{done.stderr}") from None
        for number, group in files.items():
            refusals = [[p["message"] for p in problems if p["file"] == str(file)] for file in group]
            if all(refusals):
                fewest = min(refusals, key=len)
                raise Failure(block.line, f"no position of a chain accepts {entries[number].strip()}: {'; '.join(fewest)}")
        self.counts["entries"] += len(entries)

    def summary(self):
        counts = [f"{count} {name}" for name, count in self.counts.items() if count]
        return f"guides: {self.name}: {', '.join(counts) or 'nothing to run'}"


def stripped(text):
    """The lines without indentation and without empty ones."""
    return "".join(line.strip() + "\n" for line in text.splitlines() if line.strip())


def run_pages(pages):
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        yield from zip(pages, pool.map(Page.run, pages))


def report(page, failure):
    for line, reason in page.skipped:
        print(f"guides: {page.name}:{line}: not run: {reason}")
    if failure:
        print(f"guides: {page.name}:{failure.line}: {failure}", file=sys.stderr)
    else:
        print(page.summary())


def self_test(program):
    """Every page of selftest/ fails with the text in its first line, or passes if that is "passes"."""
    wrong = 0
    paths = sorted((pathlib.Path(__file__).parent / "selftest").glob("*.md"))
    for page, failure in run_pages([Page(path, program) for path in paths]):
        expected = re.match(r"<!-- (passes|fails: (.*)) -->\n", page.path.read_text())
        told = f"{failure.line}: {failure}" if failure else "passes"
        if (expected[2] or "passes") not in told:
            wrong += 1
            print(f"guides: {page.name}: expected {expected[1]!r}, found: {told}", file=sys.stderr)
    print(f"guides: self-test: {len(paths) - wrong} passed, {wrong} failed")
    return 1 if wrong or not paths else 0


def main(arguments):
    if not arguments or arguments[0].startswith("-"):
        sys.exit(__doc__)
    program = pathlib.Path(arguments[0]).resolve()
    if not os.access(program, os.X_OK):
        sys.exit(f"guides: there is no program {program}; build it: swift build --scratch-path .build-debug")
    if arguments[1:] == ["--self-test"]:
        return self_test(program)
    paths = [pathlib.Path(path).resolve() for path in arguments[1:]]
    paths = paths or [ROOT / "README.md", ROOT / "CONTRIBUTING.md"] + sorted((ROOT / "docs").rglob("*.md"))
    missing = [str(path) for path in paths if not path.is_file()]
    if missing:
        sys.exit(f"guides: there is no page {', '.join(missing)}")
    failed = 0
    prose = []
    for page, failure in run_pages([Page(path, program) for path in paths]):
        if failure or page.skipped or any(page.counts.values()):
            report(page, failure)
        else:
            prose.append(page.name)
        failed += failure is not None
    if prose:
        print(f"guides: no blocks in {', '.join(prose)}")
    print(f"guides: {len(paths) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
