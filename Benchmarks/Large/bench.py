#!/usr/bin/env python3
"""What a cache costs that already has many gigabytes: imports into it, point reads, and removals.

Imports a generated response of posts with their authors, and measures each command as a process: time, processor time, memory,
and the largest size of the write-ahead log. `--ids scattered` spreads ids that follow each other over all keys.
"""
import argparse, glob, os, shutil, subprocess, sys, threading, time

PAGE = 1000
BYTES_OF_POST = 520  # of the response, with the author
TEXT = " ".join(f"lorem{i}" for i in range(40))
FIELDS = "{ id title text likes author { id login name bio } }"

def identifier(number):
    return "%012x" % (number * 0x9E3779B97F4B % (1 << 48) if ARGUMENTS.ids == "scattered" else number)

def post(i, change=""):
    user = i % 1_000_003
    return (f'{{"__typename":"Post","id":"{identifier(i)}","title":"Title of post number {i}{change}","text":"{TEXT[:200]} {i}",'
            f'"likes":{i % 977},"author":{{"__typename":"User","id":"{identifier(user)}","login":"user-{user}",'
            f'"name":"User number {user}","bio":"{TEXT[:100]}"}}}}')

def posts(first, count, change=""):
    return "[" + ",".join(post(i, change) for i in range(first, first + count)) + "]"

def write(name, text):
    with open(name, "w") as file: file.write(text)

def command(*arguments, database, **options):
    return subprocess.Popen([PROGRAM, "cache", *arguments, "--store", f"sqlite:{database}"], **options)

def remove(*names):
    for name in names:
        for file in glob.glob(f"{name}*"): os.remove(file)

def fill(pages):
    """Makes the large cache: each page is a field of the query root. One whose import was interrupted is not used."""
    remove("part.db")
    fields = " ".join(f"p{i}: page(n: {i}) {{ ...P }}" for i in range(pages))
    write("large.graphql", f"fragment P on Post {FIELDS} {{ {fields} }}")
    importing = command("import", "large.graphql", "-", database="part.db", stdin=subprocess.PIPE, text=True)
    importing.stdin.write('{"data":{')
    for i in range(pages): importing.stdin.write(f'{"," if i else ""}"p{i}":{posts(i * PAGE, PAGE)}')
    importing.stdin.write("}}")
    importing.stdin.close()
    if importing.wait(): sys.exit("the response could not be imported")
    os.rename("part.db", "large.db")

def measure(label, *arguments, database="copy.db"):
    largest = 0
    def watch():
        nonlocal largest
        while process.returncode is None:
            try: largest = max(largest, os.stat(database + "-wal").st_size)
            except FileNotFoundError: pass
            time.sleep(0.01)
    start = time.monotonic()
    process = command(*arguments, database=database, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    watcher = threading.Thread(target=watch)
    watcher.start()
    notes = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - start
    process.returncode = status
    watcher.join()
    if status: sys.exit(f"{' '.join(arguments)}: {notes}")
    print(f"{label:28} {seconds:8.2f} s {usage.ru_utime:7.2f} user {usage.ru_stime:7.2f} kernel {usage.ru_maxrss / 1024:6.0f} MiB"
          f" {largest / 1e6:7.1f} MB log {os.stat(database).st_size / 1e6:8.0f} MB file", flush=True)

def main():
    pages = max(round(ARGUMENTS.gigabytes * 1e9 / BYTES_OF_POST / PAGE), 10)
    if not os.path.exists("large.db"): fill(pages)
    write("small.graphql", f"{{ top {FIELDS} }}")
    for name, first, change in ("new", 1 << 30, ""), ("unchanged", 0, ""), ("changed", 0, " changed"):
        write(f"{name}.json", f'{{"data":{{"top":{posts(first, ARGUMENTS.posts, change)}}}}}')
    write("top.json", f'{{"data":{{"top":{posts(0, 20)}}}}}')
    # A run that was interrupted leaves files, with a log that does not belong to the copy.
    remove("copy.db", "empty.db")
    shutil.copy("large.db", "copy.db")
    measure("import new, empty cache", "import", "small.graphql", "new.json", database="empty.db")
    for kind in "unchanged", "changed", "new":
        measure(f"import {kind}", "import", "small.graphql", f"{kind}.json")
    measure("import 20 posts", "import", "small.graphql", "top.json")
    for _ in range(3): measure("read 20 posts", "read", "small.graphql")
    measure("evict User:*", "evict", "User:*")
    measure("evict Query.page 1…", "evict", 'Query.page({"n":1*')
    measure("gc", "gc")
    measure("gc, nothing to remove", "gc")
    measure("trim to a half", "trim", "--to", f"{os.stat('copy.db').st_size // 2}B")
    remove("copy.db", "empty.db")

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("program", type=os.path.abspath)
parser.add_argument("--gigabytes", type=float, default=2.6, help="size of the response that fills the cache; default: 2.6")
parser.add_argument("--posts", type=int, default=20_000, help="posts of the other responses; default: 20000, about 10 MB")
parser.add_argument("--ids", choices=["ascending", "scattered"], default="ascending")
parser.add_argument("--folder", required=True, help="where files go, three times the gigabytes; large.db is kept and used again")
ARGUMENTS = parser.parse_args()
PROGRAM = ARGUMENTS.program
os.makedirs(ARGUMENTS.folder, exist_ok=True)
os.chdir(ARGUMENTS.folder)
main()
