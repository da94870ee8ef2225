#!/usr/bin/env python3
"""batch-kill.py PROGRAM [KILLS] [TASKS]: kills a batch run at random moments, continues it, and looks whether every
result is there once.

The manifest has an operation with a task per row and one with pages; every kind of sink takes their records. Ends with 1
when a record is missing or doubled in any sink, or when a task that was recorded as done ended again. SEED=N repeats a
run of this script. With ORDER=output, the results must also be in the order of the rows.
"""
import os, random, shutil, signal, subprocess, sys, tempfile, time

from batch_rig import Run, Server
from common import expect, main


def torture():
    program = os.path.abspath(sys.argv[1])
    kills = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    tasks = int(sys.argv[3]) if len(sys.argv) > 3 else 2000
    seed = int(os.environ.get("SEED", random.randrange(1 << 30)))
    chance = random.Random(seed)
    killed = runs = 0
    # How long a run takes: measured without a kill, so that the kills are spread over it.
    length = None
    with Server(program) as server:
        while killed < kills:
            run = Run(program, tempfile.mkdtemp(prefix="batch-kill-"), server.url, tasks)
            kills_here = 0
            while True:
                start = time.monotonic()
                process = run.start()
                wait = chance.uniform(0, length) if length and killed < kills else None
                try:
                    _, errors = process.communicate(timeout=wait)
                    expect(process.returncode == 0, f"exit {process.returncode}: {errors}; see {run.folder}")
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGKILL)
                    process.communicate()
                    # It may have ended just before.
                    kills_here += process.returncode == -signal.SIGKILL
                    killed += process.returncode == -signal.SIGKILL
                run.expect_no_repeats()
                if process.returncode == 0:
                    break
            if length is None:
                length = time.monotonic() - start
                print(f"seed {seed}; a run of {tasks} tasks without a kill takes {length:.2f} s")
            run.expect_all()
            runs += 1
            print(f"run {runs}: {kills_here} kills, every result once ({killed}/{kills})", flush=True)
            shutil.rmtree(run.folder)


main(torture)
