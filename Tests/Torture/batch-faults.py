#!/usr/bin/env python3
"""batch-faults.py PROGRAM [COUNT] [CUTS]: lets the memory of a batch run end, fills its disk, and cuts the power of its
file system.

--resume must end with every result once. For the power cuts see powercut.py: what the journal has as done afterwards must
be in every sink. Disks need root. Failing system calls are in faults.py.
"""
import ctypes, fcntl, os, random, shutil, signal, struct, subprocess, sys, tempfile, time

from batch_rig import Run, Server
from common import expect, failing, main

EXT4_IOC_SHUTDOWN = 0x8004587D
WITHOUT_LOG_FLUSH = 2


def shell(*arguments):
    subprocess.run(arguments, check=True, capture_output=True)


def allocations(program, server, scratch, count, seed):
    """Runs whose memory ends at some moment. The program cannot go on then; --resume must."""
    library = failing(scratch)
    if library is None or count == 0:
        return print("failing allocations: skipped, there is no gcc, or nothing was asked for")
    chance = random.Random(seed)
    limit, ended, through = 200_000, 0, 0
    for _ in range(count):
        with tempfile.TemporaryDirectory(prefix="batch-faults-") as folder:
            run = Run(program, folder, server.url, 200)
            number = chance.randrange(limit)
            process = run.start(
                before=["env", "SWIFT_BACKTRACE=enable=no", f"LD_PRELOAD={library}", f"MALLOC_LIMIT={number}"])
            try:
                process.communicate(timeout=20)
            except subprocess.TimeoutExpired:
                # libdispatch waits for memory, which here never comes.
                process.kill()
                process.communicate()
            if process.returncode == 0:
                # So many are enough: the next ones end earlier.
                through, limit = through + 1, max(number, 1000)
            else:
                ended += 1
            run.expect_no_repeats()
            run.finish(f"{number} allocations")
    expect(ended > 0, "no allocation failed; does the program ask glibc under other names?")
    print(
        f"failing allocations: {count}, seed {seed}; {ended} runs ended, {through} went through; continued, every "
        "result was there once", flush=True)


def mounted(image, folder, size):
    with open(image, "wb") as file:
        file.truncate(size)
    shell("mkfs.ext4", "-q", "-F", image)
    os.makedirs(folder, exist_ok=True)
    shell("mount", "-o", "loop,commit=1", image, folder)


def full_disk(program, server, scratch):
    """A disk that runs full in the middle of a run, and is given room again."""
    mount = os.path.join(scratch, "small")
    mounted(os.path.join(scratch, "small.image"), mount, 96 << 20)
    try:
        stopped = 0
        for left in (0, 64, 256, 512, 1024, 2048):
            folder = os.path.join(mount, f"r{left}")
            os.mkdir(folder)
            run = Run(program, folder, server.url, 2000)
            ballast = os.path.join(mount, "ballast")
            with open(ballast, "wb") as file:
                try:
                    while os.statvfs(mount).f_bavail * os.statvfs(mount).f_bsize > left << 10:
                        file.write(b"x" * 4096)
                        file.flush()
                except OSError:
                    pass
            process = run.start()
            _, errors = process.communicate(timeout=120)
            expect(process.returncode in (0, 75), f"{left} KiB left: exit {process.returncode}: {errors}")
            if process.returncode == 75:
                stopped += 1
                expect("--resume continues" in errors, f"{left} KiB left: {errors}")
            # Looking at the journal takes room, too.
            os.unlink(ballast)
            run.expect_no_repeats()
            process = run.start()
            _, errors = process.communicate(timeout=120)
            expect(process.returncode == 0, f"with room again: exit {process.returncode}: {errors}")
            run.expect_no_repeats()
            run.expect_all()
            shutil.rmtree(folder)
        expect(stopped >= 3, f"the disk was full in {stopped} runs only")
        print(f"full disks: 6; {stopped} runs stopped with 75, and ended with every result once when there was room")
    finally:
        subprocess.run(["umount", "-l", mount], capture_output=True)


def power_cuts(program, server, scratch, count, seed):
    chance = random.Random(seed)
    image, mount = os.path.join(scratch, "power.image"), os.path.join(scratch, "power")
    mounted(image, mount, 128 << 20)
    runs = lost = 0
    length, run = 2.0, None
    try:
        for _ in range(count):
            if run is None:
                folder = os.path.join(mount, f"r{runs}")
                os.mkdir(folder)
                run = Run(program, folder, server.url, 2000)
                # The rows themselves shall survive.
                subprocess.run(["sync", "-f", mount], check=True)
            process = run.start()
            time.sleep(chance.uniform(0, length))
            acknowledged = run.done() if process.poll() is None else {}
            disk = os.open(mount, os.O_RDONLY)
            fcntl.ioctl(disk, EXT4_IOC_SHUTDOWN, struct.pack("I", WITHOUT_LOG_FLUSH))
            os.close(disk)
            process.send_signal(signal.SIGKILL)
            process.communicate()
            shell("umount", mount)
            shell("mount", "-o", "loop,commit=1", image, mount)
            left = run.done()
            lost += len([k for k in acknowledged if k not in left])
            run.ended = left
            if chance.random() < 0.4:
                run.finish("a power cut")
                runs += 1
                shutil.rmtree(run.folder)
                run = None
        expect(lost == 0, f"{lost} tasks that the journal had as done were not done after a power cut")
        print(f"power cuts: {count}, seed {seed}; {runs} runs ended with every result once, no task was lost")
    finally:
        subprocess.run(["umount", "-l", mount], capture_output=True)


def torture():
    program, count = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 6
    cuts = int(sys.argv[3]) if len(sys.argv) > 3 else 30
    if os.geteuid() == 0 and "GQLRUN_OWN_MOUNTS" not in os.environ:
        # A mount that others inherit would outlive its umount.
        os.environ["GQLRUN_OWN_MOUNTS"] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable] + sys.argv)
    with Server(program) as server, tempfile.TemporaryDirectory(prefix="batch-faults-") as scratch:
        seed = int(os.environ.get("SEED", random.randrange(1 << 30)))
        allocations(program, server, scratch, 4 * count, seed)
        if os.geteuid() != 0:
            return print("full disks and power cuts: skipped, a loop device needs root")
        full_disk(program, server, scratch)
        power_cuts(program, server, scratch, cuts, seed)


main(torture)
