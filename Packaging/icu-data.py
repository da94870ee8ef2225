#!/usr/bin/env python3
"""Makes an object file with the part of ICU's data that the program needs, and prints the flags that link it.

usage: icu-data.py SWIFT OUTPUT      SWIFT is the compiler's program, OUTPUT a folder

Swift's Foundation has the data of ICU for all languages as one symbol of 34 MB in a static library. Without settings,
Foundation's locale is en_001 on Linux, and the program and its libraries format only for it, en_US and en_US_POSIX. So
the data of other languages, the converters of old encodings and the rules of transliteration are left out. The linker
replaces the symbol (--wrap), and leaves out the whole data because nothing refers to it.

Prints nothing, with the reason on standard error, if the toolchain has no such library: the program is then only larger.
The format of the data: https://github.com/unicode-org/icu/blob/main/icu4c/source/common/ucmndata.h
"""

import hashlib
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

# A bundle of one language, such as lang/de_CH.res. Those of brkitr/ are small, and belong to the search for words.
LANGUAGE = re.compile(r"(?:(?!brkitr/).*/)?([a-z]{2,3})(?:_\w*)?\.res")
# English, and the lists of what exists (res_index.res), so that these still name every language.
KEPT_LANGUAGES = {"en", "res"}
# Converters of encodings other than UTF-8, UTF-16, UTF-32, ASCII and Latin-1, and the rules of transliteration.
LEFT_OUT = re.compile(r".*\.cnv|translit/root\.res")
HEADER = b"CmnD"


def is_kept(item):
    language = LANGUAGE.fullmatch(item)
    return not LEFT_OUT.fullmatch(item) and (not language or language[1] in KEPT_LANGUAGES)


def items_of(data):
    """The header of a package of data, and its items: (name, content)."""
    (header,) = struct.unpack_from("<H", data)
    if data[12:16] != HEADER or data[8:10] != b"\0\0":
        raise ValueError("the data has another format")
    (count,) = struct.unpack_from("<I", data, header)
    entries = [struct.unpack_from("<II", data, header + 4 + 8 * index) for index in range(count)]
    ends = [content for _, content in entries[1:]] + [len(data) - header]
    items = []
    for (name, content), end in zip(entries, ends):
        name = data[header + name : data.index(b"\0", header + name)]
        items.append((name, data[header + content : header + end]))
    return data[:header], items


def package_of(header, items):
    """The inverse of `items_of`; each content begins at a multiple of 16."""
    names = b"".join(name + b"\0" for name, _ in items)
    position = 4 + 8 * len(items)
    body_start = -(-(position + len(names)) // 16) * 16
    table, body = [], []
    content_position = body_start
    for name, content in items:
        content += b"\0" * (-len(content) % 16)
        table.append(struct.pack("<II", position, content_position))
        body.append(content)
        position += len(name) + 1
        content_position += len(content)
    start = struct.pack("<I", len(items)) + b"".join(table) + names
    return header + start + b"\0" * (body_start - len(start)) + b"".join(body)


def make(tools, library, symbol, output):
    """Writes the object file."""
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        member = "icu_packaged_data.cpp.o"
        subprocess.run([tools / "llvm-ar", "x", library, member], check=True, cwd=scratch)
        # The symbol is all that the member's read-only data has.
        command = [tools / "llvm-objcopy", "--output-target=binary", "--only-section=.rodata"]
        subprocess.run([*command, member, "data"], check=True, cwd=scratch)
        header, items = items_of((scratch / "data").read_bytes())
        kept = [(name, content) for name, content in items if is_kept(name.decode().partition("/")[2])]
        (scratch / "kept").write_bytes(package_of(header, kept))
        (scratch / "data.s").write_text(
            f".section .rodata\n.globl __wrap_{symbol}\n.type __wrap_{symbol}, @object\n.balign 16\n"
            f'__wrap_{symbol}:\n.incbin "{scratch}/kept"\n.size __wrap_{symbol}, . - __wrap_{symbol}\n'
            '.section .note.GNU-stack, "", @progbits\n'
        )
        subprocess.run([tools / "clang", "-c", "data.s", "-o", "data.o"], check=True, cwd=scratch)
        shutil.move(scratch / "data.o", output)


def main():
    swift, folder = sys.argv[1:]
    tools = pathlib.Path(shutil.which(swift)).resolve().parent
    library = tools.parent / "lib/swift_static/linux/lib_FoundationICU.a"
    if not library.exists():
        sys.exit("ICU's data stays whole: the toolchain has no static lib_FoundationICU.a")
    found = re.search(rb"\bicudt[0-9]+_dat\b", library.read_bytes())
    if not found:
        sys.exit("ICU's data stays whole: lib_FoundationICU.a has no symbol for it")
    symbol = found[0].decode()
    version = hashlib.sha256(pathlib.Path(__file__).read_bytes())
    version.update(f"{library} {library.stat().st_size} {library.stat().st_mtime_ns}".encode())
    output = pathlib.Path(folder).resolve() / f"icu-data-{version.hexdigest()[:12]}.o"
    if not output.exists():
        output.parent.mkdir(parents=True, exist_ok=True)
        make(tools, library, symbol, output)
    print(f"-Xlinker --wrap={symbol} -Xlinker {output}")


main()
