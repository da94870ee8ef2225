#!/usr/bin/env python3
"""Runs fuzz targets one after the other, and prints a table.

Usage: run.py PROGRAM SCRATCH SECONDS [TARGET]. Without TARGET, each target has its share of the seconds. Inputs that
reach new code are kept in SCRATCH/corpus, findings in SCRATCH/findings. The exit code is 1 after a finding.
"""
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# The JSON Schemas whose names and words the dictionaries of these targets have, too.
SCHEMAS = {"pipelines": "pipeline.schema.json", "manifests": "batch.schema.json"}
# An input that takes longer is a finding, in seconds, and a process with more memory, in MiB.
LONGEST = 20
MEMORY = 3000


def number(pattern, text):
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def words(schema):
    """The names of properties and the words of enumerations in a JSON Schema."""
    if isinstance(schema, list):
        return set().union(*map(words, schema))
    if not isinstance(schema, dict):
        return set()
    own = {f"{name}: " for name in schema.get("properties", {})}
    own |= {word for word in schema.get("enum", []) if isinstance(word, str)}
    return own.union(*map(words, schema.values()))


def dictionary_file(name, scratch):
    """The path of a dictionary; with the words of its schema, if it has one."""
    path = os.path.join(HERE, "dictionaries", f"{name}.dict")
    if name not in SCHEMAS:
        return path
    with open(os.path.join(HERE, "..", "..", "pipelines", SCHEMAS[name])) as file:
        lines = [f"{json.dumps(word)}\n" for word in sorted(words(json.load(file)))]
    made = os.path.join(scratch, f"{name}.dict")
    with open(path) as own, open(made, "w") as file:
        file.writelines([*own, *lines])
    return made


def run(program, scratch, target, seconds):
    """Runs one target; returns the cells of its row, and the lines about a finding."""
    name, dictionary, size = target
    corpus, findings = (os.path.join(scratch, part, name) for part in ("corpus", "findings"))
    for folder in (corpus, findings):
        os.makedirs(folder, exist_ok=True)
    arguments = [f"-max_len={size}", f"-timeout={LONGEST}", f"-rss_limit_mb={MEMORY}"]
    if dictionary != "none":
        arguments.append(f"-dict={dictionary_file(dictionary, scratch)}")
    seeds = os.path.join(HERE, "corpus", name)
    done = subprocess.run(
        [program, name, corpus, seeds, *arguments, f"-artifact_prefix={findings}/",
         f"-max_total_time={seconds}", "-print_final_stats=1"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        # libFuzzer catches signals itself, and writes the input.
        env={**os.environ, "SWIFT_BACKTRACE": "enable=no"})
    log = done.stdout.decode(errors="replace")
    executions = number(r"stat::number_of_executed_units: (\d+)", log)
    cells = [name, executions, number(r"stat::average_exec_per_sec: +(\d+)", log),
             number(r"cov: (\d+)", log), number(r"corp: (\d+)", log), 0]
    if done.returncode == 0:
        return cells, []
    cells[-1] = 1
    message = re.search(r"FINDING: .*|.*Fatal error: .*|.*ERROR: libFuzzer: .*", log)
    lines = [f"{name}: {message.group(0)[:2000] if message else log[-2000:]}"]
    if file := re.search(r"Test unit written to (.*)", log):
        lines += [f"  the input: {file.group(1)}", f"  to repeat it: {program} {name} {file.group(1)}"]
    return cells, lines


def main():
    program, scratch, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    listed = subprocess.run([program, "list"], check=True, capture_output=True, text=True).stdout
    targets = [line.split() for line in listed.splitlines()]
    if len(sys.argv) > 4:
        targets = [target for target in targets if target[0] == sys.argv[4]]
        if not targets:
            sys.exit(f"fuzz: there is no target {sys.argv[4]}; the targets:\n{listed}")
    share = max(seconds // len(targets), 1)
    print(f"fuzz: {len(targets)} targets, {share} s each")
    layout = "  {:14} {:>10} {:>12} {:>9} {:>7} {:>9}"
    print(layout.format("target", "executions", "per second", "coverage", "corpus", "findings"))
    problems, total = [], 0
    for target in targets:
        cells, lines = run(program, scratch, target, share)
        print(layout.format(*cells), flush=True)
        problems += lines
        total += cells[1]
    print(f"fuzz: {total} executions")
    for line in problems:
        print(line, file=sys.stderr)
    sys.exit(1 if problems else 0)


main()
