"""What the torture scripts share: responses that are known, what a cache may say afterwards, and calls that fail."""

import errno
import json
import os
import shutil
import subprocess
import sys

DOCUMENT = "query Torture { users { id name bio } notes { text } }\n"


class Rig:
    """A folder with a document, responses in many versions, and the program."""

    def __init__(self, folder, program, users=3000, notes=6000):
        self.folder = folder
        self.program = os.path.abspath(program)
        self.users = users
        self.notes = notes
        os.makedirs(folder, exist_ok=True)
        with open(self.path("q.graphql"), "w") as file:
            file.write(DOCUMENT)

    def path(self, name):
        return os.path.join(self.folder, name)

    def response(self, version):
        """A file with a response in which every value tells its version."""
        path = self.path(f"r{version % 4}.json")
        users = [
            {"__typename": "User", "id": str(i), "name": f"v{version}", "bio": f"v{version} " + "b" * (i % 300)}
            for i in range(self.users)
        ]
        notes = [{"__typename": "Note", "text": f"v{version} {i}"} for i in range(self.notes)]
        with open(path, "w") as file:
            json.dump({"data": {"users": users, "notes": notes}}, file, separators=(",", ":"))
        return path

    def import_command(self, version, database):
        return [
            self.program, "cache", "import", self.path("q.graphql"), self.response(version),
            "--store", "sqlite:" + database,
        ]

    def verdict(self, database):
        """The version that the cache holds, complete; 0 when it is empty. Anything else ends the run."""
        read = self.run(["cache", "read", self.path("q.graphql"), "--store", "sqlite:" + database])
        dump = self.run(["cache", "dump", "--store", "sqlite:" + database])
        expect(dump.returncode == 0 and dump.stderr == "", "dump: " + dump.stderr)
        if read.returncode == 3:
            expect("damaged" not in read.stderr and dump.stdout == "", "incomplete: " + read.stderr + dump.stdout[:300])
            return 0
        expect(read.returncode == 0 and read.stderr == "", f"read: {read.returncode} {read.stderr}")
        data = json.loads(read.stdout)["data"]
        versions = {u["name"] for u in data["users"]} | {u["bio"].split()[0] for u in data["users"]}
        versions |= {n["text"].split()[0] for n in data["notes"]}
        expect(len(versions) == 1, f"a mixture: {sorted(versions)[:5]}")
        expect(len(data["users"]) == self.users and len(data["notes"]) == self.notes, "not all there")
        dumped = {json.loads(line)["fields"].get("name") for line in dump.stdout.splitlines()}
        expect(dumped - {None} == versions, "the dump says something else")
        return int(versions.pop()[1:])

    def run(self, arguments):
        return subprocess.run([self.program] + arguments, capture_output=True, text=True)


def quick_check(database):
    if shutil.which("sqlite3") is None:
        return
    result = subprocess.run(
        ["sqlite3", database, "PRAGMA integrity_check"], capture_output=True, text=True)
    expect(result.stdout.strip() == "ok", "integrity_check: " + result.stdout[:500] + result.stderr)


def failing(scratch):
    """The library of failing.c, made in a folder; `None` without a compiler."""
    library = os.path.join(scratch, "failing.so")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "failing.c")
    if shutil.which("gcc") is None:
        return None
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", library, source], check=True)
    return library


class Fault:
    """A call that fails once, or from then on: `call` is one of failing.c, `name` an errno, or "half" of the bytes."""

    def __init__(self, call, name, number, forever=False):
        self.call, self.name, self.number, self.forever = call, name, number, forever

    def __str__(self):
        return f"{self.call} {self.number} {self.name}{' and all later ones' if self.forever else ''}"

    def environment(self, library, folder, report):
        return {
            "LD_PRELOAD": library, "FAIL_CALL": self.call, "FAIL_NUMBER": str(self.number), "FAIL_FOLDER": folder,
            "FAIL_ERROR": str(getattr(errno, self.name, 0)), "FAIL_FOREVER": str(int(self.forever)), "FAIL_REPORT": report,
            "SWIFT_BACKTRACE": "enable=no"}


class Failed(Exception):
    pass


def expect(condition, message):
    if not condition:
        raise Failed(message)


def main(body):
    try:
        body()
    except Failed as failure:
        sys.exit(f"FAILED: {failure}")
