#!/usr/bin/env python3
"""kill.py PROGRAM [COUNT] [SEED]: kills the program at random while it writes, and looks at what is left.

After every kill the cache holds one response completely: the last one that was acknowledged, or the one
that was being written. Every record matches its checksum, and SQLite finds the file sound.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time

from common import Rig, expect, main, quick_check


def torture():
    program, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 300
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="gqlrun-kill-") as folder:
        rig = Rig(folder, program)
        database = rig.path("cache.db")
        start = time.monotonic()
        subprocess.run(rig.import_command(1, database), check=True, capture_output=True)
        duration = time.monotonic() - start
        held, killed, kept = 1, 0, 0
        version = 1
        while killed < count:
            version += 1
            if version % 2 == 0:
                # The first response of a new file has no log.
                for suffix in ["", "-wal", "-shm", "-lock"]:
                    if os.path.exists(database + suffix):
                        os.unlink(database + suffix)
                held = 0
            command = rig.import_command(version, database)
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(chance.uniform(0, duration * 1.1))
            process.send_signal(signal.SIGKILL)
            acknowledged = process.wait() == 0
            if acknowledged:
                held = version
                continue
            killed += 1
            if killed % 50 == 0:
                print(f"{killed} kills", flush=True)
            if not os.path.exists(database) or os.path.getsize(database) == 0:
                expect(held == 0, f"round {killed}: the file is gone")
                continue
            # The log as the kill left it, for SQLite's own program; in every tenth round only, as it
            # moves the log into the database.
            if killed % 10 == 0:
                quick_check(database)
            found = rig.verdict(database)
            expect(found in (held, version), f"round {killed}: {found} instead of {held} or {version}")
            kept += found == version
            held = found
        # The next store that writes removes what kills have left.
        subprocess.run(rig.import_command(version + 1, database), check=True, capture_output=True)
        expect(rig.verdict(database) == version + 1, "the import after the last kill is not complete")
        quick_check(database)
        leftovers = [name for name in os.listdir(folder) if ".damaged-" in name or "-incomplete" in name]
        expect(not leftovers, f"set aside: {leftovers}")
        print(
            f"kill -9: {killed} during writes, seed {seed}; every time one response was complete: "
            f"{killed - kept} times the one before, {kept} times the new one")


main(torture)
