#!/usr/bin/env python3
"""Prints the functions that `gqlrun --version` calls, for the linker, which places them side by side.

    Packaging/symbol-order.py .build-release/release/gqlrun > Packaging/symbol-order.txt

Needs valgrind and nm. Prints functions of Swift's runtime and of C libraries, which have sections of their own: those of a
package's module are one section. See docs/decisions/0077-the-start-of-a-process.md.
"""
import pathlib, re, subprocess, sys, tempfile

program = sys.argv[1]
with tempfile.TemporaryDirectory() as folder:
    profile = pathlib.Path(folder) / "profile"
    command = ["valgrind", "--tool=callgrind", "--demangle=no", f"--callgrind-out-file={profile}", program, "--version"]
    subprocess.run(command, check=True, capture_output=True)
    # A function has its name where its number occurs first; `'2` after a name counts recursion.
    called = {name.split("'")[0] for name in re.findall(r"fn=\(\d+\) (\S+)", profile.read_text())}
listed = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout
defined = {line.split()[-1] for line in listed.splitlines() if re.search(r" [tTwW] ", line)}
# `$s` and a digit begin the name of a module.
for name in sorted(called & defined):
    if not re.match(r"\$s\d", name):
        print(name)
