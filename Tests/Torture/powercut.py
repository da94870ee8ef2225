#!/usr/bin/env python3
"""powercut.py PROGRAM [COUNT] [SEED]: cuts the power of a file system while the program writes to it.

The cache lies on ext4 in a file, mounted as a loop device. The cut is the file system's own shutdown
without flushing its log (EXT4_IOC_SHUTDOWN): what was not written back by then is lost. Meanwhile random
pieces of the database and its log are written back in random order. The file system is then mounted anew.
Needs root. Without synchronous writes (WAL, NORMAL) acknowledged responses may be lost, but what is left
is one complete response, or a cache that was set aside and begun anew.
"""

import ctypes
import fcntl
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

from common import Rig, expect, main, quick_check

EXT4_IOC_SHUTDOWN = 0x8004587D
WITHOUT_LOG_FLUSH = 2
libc = ctypes.CDLL(None, use_errno=True)


def shell(*arguments):
    subprocess.run(arguments, check=True, capture_output=True)


def write_back_at_random(folder, chance, stop):
    """Plays the kernel's write-back: pieces in any order, now and then the file system's journal."""
    while not stop.is_set():
        name = chance.choice(["cache.db", "cache.db-incomplete", "cache.db-wal", "cache.db-wal", "dummy"])
        try:
            descriptor = os.open(os.path.join(folder, name), os.O_RDWR | os.O_CREAT if name == "dummy" else os.O_RDWR)
        except OSError:
            continue
        try:
            if name == "dummy":
                os.write(descriptor, b"x")
                os.fsync(descriptor)
            else:
                size = os.fstat(descriptor).st_size
                offset = chance.randrange(0, max(size, 1)) & ~4095
                libc.sync_file_range(
                    descriptor, ctypes.c_int64(offset), ctypes.c_int64(chance.choice([4096, 65536, 1 << 20])), 7)
        except OSError:
            pass
        finally:
            os.close(descriptor)
        time.sleep(chance.uniform(0, 0.01))


def torture():
    program, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    if os.geteuid() != 0:
        print("power cuts: skipped, a loop device needs root")
        return
    if "GQLRUN_OWN_MOUNTS" not in os.environ:
        # A mount that others inherit would outlive its umount, and the shut down file system with it.
        os.environ["GQLRUN_OWN_MOUNTS"] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable] + sys.argv)
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="gqlrun-power-") as folder:
        image, mount = os.path.join(folder, "image"), os.path.join(folder, "disk")
        os.mkdir(mount)
        with open(image, "wb") as file:
            file.truncate(192 << 20)
        shell("mkfs.ext4", "-q", "-F", image)
        rig = Rig(os.path.join(folder, "work"), program)
        database = os.path.join(mount, "cache.db")
        shell("mount", "-o", "loop,commit=1", image, mount)
        try:
            cuts(rig, mount, image, database, count, chance, seed)
        finally:
            subprocess.run(["umount", "-l", mount], capture_output=True)


def cuts(rig, mount, image, database, count, chance, seed):
    start = time.monotonic()
    subprocess.run(rig.import_command(1, database), check=True, capture_output=True)
    duration = time.monotonic() - start
    version, held, durable = 1, 1, 0
    older, newest, set_aside = 0, 0, 0
    for cut in range(count):
        if chance.random() < 0.3:
            # The first response of a new file has no log.
            for suffix in ["-wal", "-shm", ""]:
                if os.path.exists(database + suffix):
                    os.unlink(database + suffix)
            held = durable = 0
        stop = threading.Event()
        writer = threading.Thread(target=write_back_at_random, args=(mount, random.Random(chance.random()), stop))
        writer.start()
        # Several responses, so that there is something to lose; one at the moment of the cut.
        acknowledged = held
        for _ in range(chance.randrange(3)):
            version += 1
            done = subprocess.run(rig.import_command(version, database), capture_output=True)
            expect(done.returncode == 0, "import: " + done.stderr.decode())
            acknowledged = version
        version += 1
        process = subprocess.Popen(
            rig.import_command(version, database), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0, duration * 1.1))
        disk = os.open(mount, os.O_RDONLY)
        fcntl.ioctl(disk, EXT4_IOC_SHUTDOWN, struct.pack("I", WITHOUT_LOG_FLUSH))
        os.close(disk)
        process.send_signal(signal.SIGKILL)
        process.wait()
        stop.set()
        writer.join()
        shell("umount", mount)
        shell("mount", "-o", "loop,commit=1", image, mount)
        if not os.path.exists(database):
            subprocess.run(rig.import_command(version, database), check=True, capture_output=True)
            held = version
            continue
        # An import of nothing opens the file for writing, which checks it.
        opened = rig.run(["cache", "import", rig.path("q.graphql"), "/dev/null", "--store", "sqlite:" + database])
        expect(opened.returncode == 65, f"opening: {opened.returncode} {opened.stderr}")
        rebuilt = "set aside" in opened.stderr
        found = rig.verdict(database)
        quick_check(database)
        expect(found <= version, f"cut {cut}: {found} was never written")
        if rebuilt:
            set_aside += 1
            for name in os.listdir(mount):
                if ".damaged-" in name:
                    os.unlink(os.path.join(mount, name))
        else:
            # What was there after the last cut was read back from the disk: it is not lost again.
            expect(found >= durable, f"cut {cut}: {found}, older than {durable}")
        newest += found >= acknowledged
        older += found < acknowledged
        held = durable = found
    print(
        f"power cuts: {count}, seed {seed}; every time one response was complete: {newest} times the last "
        f"acknowledged or a later one, {older} times an older one; {set_aside} set aside and begun anew")


main(torture)
