#!/usr/bin/env python3
"""Lists the public symbols of the libraries, one per line: module, kind, name; and counts them.

usage: symbols.py SOURCES BUILD [--count]

  SOURCES   the root of the package, whose Sources folders have the module maps of C libraries
  BUILD     the folder with the built modules, such as .build-debug/debug
  --count   prints only the number of symbols of each module

Two lists can be compared with `diff`. Symbols that the compiler adds, such as `==` of a structure
that conforms to Equatable, are not listed.
"""

import json
import pathlib
import subprocess
import sys
import tempfile


def symbols(root, build, module, folder):
    """The public symbols of a module as pairs of kind and name."""
    checkouts = build.parent.parent / "checkouts"
    files = [
        *root.glob("Sources/*/module.modulemap"), *build.glob("*.build/module.modulemap"),
        *checkouts.glob("*/Sources/*/module.modulemap"),
    ]
    maps = [argument for file in files for argument in ("-Xcc", f"-fmodule-map-file={file}")]
    maps += [
        argument for include in [*root.glob("Sources/*/include"), *checkouts.glob("*/Sources/*/include")]
        for argument in ("-I", str(include))
    ]
    subprocess.run(
        ["swift", "symbolgraph-extract", "-module-name", module, "-I", str(build / "Modules")]
        + ["-target", "x86_64-unknown-linux-gnu", "-minimum-access-level", "public"]
        + ["-skip-synthesized-members", "-output-dir", folder] + maps,
        check=True, stdout=subprocess.DEVNULL)
    found = set()
    for file in pathlib.Path(folder).glob(f"{module}*.symbols.json"):
        for symbol in json.loads(file.read_text())["symbols"]:
            if "::SYNTHESIZED::" not in symbol["identifier"]["precise"]:
                found.add((symbol["kind"]["identifier"], ".".join(symbol["pathComponents"])))
    return sorted(found)


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--count"]
    if len(arguments) != 2:
        sys.exit(__doc__)
    root, build = (pathlib.Path(argument).resolve() for argument in arguments)
    package = subprocess.run(
        ["swift", "package", "--package-path", str(root), "describe", "--type", "json"],
        check=True, capture_output=True, text=True)
    modules = sorted(
        target["name"] for target in json.loads(package.stdout)["targets"]
        if target["type"] == "library" and target["module_type"] == "SwiftTarget"
        and target["path"].startswith("Sources/"))
    total = 0
    for module in modules:
        if not (build / "Modules" / f"{module}.swiftmodule").exists():
            continue
        with tempfile.TemporaryDirectory() as folder:
            found = symbols(root, build, module, folder)
        total += len(found)
        if "--count" in sys.argv:
            print(f"{len(found):6} {module}")
        else:
            for kind, name in found:
                print(f"{module} {kind.removeprefix('swift.')} {name}")
    print(f"{total:6} public symbols", file=sys.stderr)


main()
