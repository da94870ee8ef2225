"""What the scripts of these folders share: measured processes, and the results that are kept."""
import datetime, json, os, platform, shutil, statistics, subprocess, sys, time


def measured(arguments, folder, **options):
    """Runs a program; returns what it printed, seconds, peak memory in MiB, and seconds of processor time.

    The kernel counts the memory of this process as that of the program until the program begins: keep it small.
    """
    begin = time.monotonic()
    process = subprocess.Popen(
        arguments, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - begin
    if status != 0:
        sys.exit(f"{arguments}: status {status}\n{text}")
    return text, seconds, usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime


def make_feed(program, count, feed, folder):
    """The paths of a response with so many posts and of its document, in the folder: made by the script in the folder `feed`, or by
    the program without one."""
    response, document = f"{folder}/response.json", f"{folder}/feed.graphql"
    if feed:
        measured([sys.executable, f"{feed}/gen.py", str(count), response], folder)
        shutil.copyfile(f"{feed}/feed.graphql", document)
    else:
        measured([program, "profile", "--generate", f"feed:{count}", "--runs", "1", "--warmup", "0", "--no-baselines",
                  "--no-shape", "--keep", folder], folder)
    return response, document


def spread(values):
    return {"median": statistics.median(values), "minimum": min(values), "maximum": max(values)}


def keep(path, kind, **results):
    """Writes results with the date, the commit and the machine, for Benchmarks/pictures.py."""
    with open("/proc/cpuinfo") as file:
        model = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), platform.machine())
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=os.path.dirname(os.path.abspath(__file__)),
                            stdout=subprocess.PIPE, text=True).stdout.strip()
    head = {"format": f"{kind}/1", "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
            "commit": commit or "unknown", "machine": f"{os.cpu_count()} cores, {model}"}
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, "w") as file:
        json.dump(head | results, file, indent=1)
        file.write("\n")
    print(f"kept in {path}")
