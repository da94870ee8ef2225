#!/usr/bin/env python3
"""faults.py PROGRAM [COUNT]: lets one system call after another fail while the program writes.

`strace` makes the n-th write, synchronization or truncation fail with "no space" or "input/output error".
The program must end by itself, say why in one line, and leave one complete response.
"""

import os
import shutil
import subprocess
import sys
import tempfile

from common import Rig, expect, main, quick_check

CALLS = [
    ("pwrite64", "ENOSPC"), ("pwrite64", "EIO"), ("fdatasync", "EIO"), ("fsync", "EIO"),
    ("ftruncate", "EIO"), ("pread64", "EIO"), ("openat", "EMFILE"), ("fcntl", "ENOLCK"), ("rename", "EACCES"),
]


def torture():
    program, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 12
    if shutil.which("strace") is None:
        print("failing system calls: skipped, there is no strace")
        return
    with tempfile.TemporaryDirectory(prefix="gqlrun-faults-") as folder:
        rig = Rig(folder, program)
        database = rig.path("cache.db")
        subprocess.run(rig.import_command(1, database), check=True, capture_output=True)
        version, held, failed, survived = 1, 1, 0, 0
        for call, error in CALLS:
            for number in range(1, 2 * count + 1):
                version += 1
                if number > count:
                    # The first response of a new file has no log.
                    for suffix in ["", "-wal", "-shm", "-lock"]:
                        if os.path.exists(database + suffix):
                            os.unlink(database + suffix)
                    held = 0
                command = rig.import_command(version, database)
                # Only the calls that touch the cache's files, and not those of the loader.
                trace = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}"]
                for suffix in ["", "-wal", "-shm", "-lock", "-incomplete", "-incomplete-wal"]:
                    trace += ["-P", database + suffix]
                trace += ["-e", f"inject={call}:error={error}:when={(number - 1) % count + 1}"]
                result = subprocess.run(trace + command, capture_output=True, text=True, timeout=120)
                place = f"{call} {number} {error}"
                expect(0 <= result.returncode < 128, f"{place}: ended by a signal, {result.returncode}")
                if result.returncode == 0:
                    survived += 1
                else:
                    failed += 1
                    expect("error: " in result.stderr, f"{place}: no reason: {result.stderr}")
                is_there = os.path.exists(database) and os.path.getsize(database) > 0
                found = rig.verdict(database) if is_there else 0
                acceptable = (version,) if result.returncode == 0 else (held, version)
                # A file that could not be read was set aside.
                expect(found in acceptable or found == 0 and "set aside" in result.stderr,
                       f"{place}: {found} instead of {acceptable}: {result.stderr}")
                held = found
        quick_check(database)
        expect(not os.path.exists(database + "-incomplete"), "a new file was left")
        print(
            f"failing system calls: {failed + survived}; {failed} imports said that they failed, "
            f"{survived} went through; every time one response was complete")


main(torture)
