#!/usr/bin/env python3
"""Makes an OCI image layout from a Debian package of gqlrun, without a container engine.

usage: oci.py PACKAGE.deb VERSION OUTPUT CACHE      prints the name of the layout, a folder

The image has no shell and no package manager: the program, the libraries it is linked with or loads (their packages
are downloaded to CACHE with apt-get, for the Debian release of this machine), certificates, time zones, and a user.
Files are as old as the commit (SOURCE_DATE_EPOCH), so the same packages make the same bytes.
"""

import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

# Packages whose programs and scripts an image without a shell cannot run.
NEVER = re.compile(r"debconf.*|dpkg|openssl|perl.*|libc-bin|base-files|libcrypt1")
# Beside what the package depends on and recommends.
ALWAYS = ["netbase", "tzdata"]
# What is not needed to run the program.
LEFT_OUT = re.compile(
    r"usr/share/(man|locale|lintian|bash-completion|bug|doc-base|i18n|zsh|fish)(/|$)"
    r"|usr/share/doc/[^/]+/(?!copyright$)|usr/lib/[^/]+/gconv(/|$)|usr/s?bin/(?!gqlrun$)|etc/init|usr/share/zoneinfo/right"
)
# Folders of the root that Debian has merged into /usr.
MERGED = ["bin", "sbin", "lib", "lib64"]
USER = 65532


def output_of(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def fields_of(text):
    """The fields of a control file."""
    return dict(re.findall(r"^([\w-]+): ?(.*(?:\n .*)*)", text, re.MULTILINE))


def names_in(field):
    """The packages that a relation names; of alternatives, the first."""
    return [re.split(r"[ |(:]", part.strip())[0] for part in field.split(",") if part.strip()]


def closure(package):
    """All packages of the image, beside `package`."""
    fields = fields_of(output_of("dpkg-deb", "--field", package))
    names = set(names_in(fields["Depends"]) + names_in(fields["Recommends"]) + ALWAYS)
    found = set()
    while names:
        found |= names
        controls = output_of("apt-cache", "show", "--no-all-versions", *sorted(names)).split("\n\n")
        needed = [name for text in controls for name in names_in(fields_of(text).get("Depends", ""))]
        names = {name for name in needed if not NEVER.fullmatch(name)} - found
    return sorted(found)


def download(names, cache):
    """The files of packages, downloaded unless the cache has them."""
    cache.mkdir(parents=True, exist_ok=True)
    lines = output_of("apt-get", "download", "--print-uris", *names).splitlines()
    files = [cache / line.split()[1] for line in lines]
    missing = [file.name.split("_")[0] for file in files if not file.exists()]
    if missing:
        # As root, apt-get would download as a user that cannot write here.
        command = ["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download"]
        subprocess.run([*command, *missing], check=True, cwd=cache)
    return sorted(files)


class Layer:
    """The files of one layer, by path."""

    def __init__(self, epoch):
        self.epoch = epoch
        self.entries = {}

    def add(self, path, data=None, mode=0o644, owner=0, link=None):
        """Adds a file, a symbolic link, or without either a folder; folders above it are added."""
        above = path.rpartition("/")[0]
        if above and above not in self.entries:
            self.add(above, mode=0o755)
        entry = tarfile.TarInfo(path)
        entry.mtime, entry.mode, entry.uid, entry.gid = self.epoch, mode, owner, owner
        entry.type = tarfile.SYMTYPE if link else tarfile.REGTYPE if data is not None else tarfile.DIRTYPE
        entry.linkname = link or ""
        entry.size = len(data or b"")
        self.entries[path] = (entry, data)

    def add_package(self, package):
        """Adds the files of a Debian package, and its control file, which scanners of images read."""
        archive = subprocess.run(
            ["dpkg-deb", "--fsys-tarfile", package], check=True, stdout=subprocess.PIPE
        ).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            for file in files:
                path = file.name.removeprefix("./").rstrip("/")
                if path.split("/")[0] in MERGED:
                    path = "usr/" + path
                if LEFT_OUT.match(path) or file.isdir():
                    continue
                if file.issym():
                    self.add(path, link=file.linkname)
                else:
                    self.add(path, files.extractfile(file).read(), file.mode)
        control = output_of("dpkg-deb", "--field", package)
        self.add(f"var/lib/dpkg/status.d/{fields_of(control)['Package']}", control.encode())

    def archive(self):
        """The layer as a tar file."""
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for path in sorted(self.entries):
                entry, data = self.entries[path]
                tar.addfile(entry, io.BytesIO(data) if data is not None else None)
        return buffer.getvalue()


def base_layer(packages, epoch):
    """What every version of the program needs."""
    layer = Layer(epoch)
    for name in MERGED:
        layer.add(name, link=f"usr/{name}")
    for package in packages:
        layer.add_package(package)
    # The script of ca-certificates that joins its files needs a shell.
    certificates = [
        data for path, (_, data) in sorted(layer.entries.items())
        if path.startswith("usr/share/ca-certificates/") and data
    ]
    layer.add("etc/ssl/certs/ca-certificates.crt", b"".join(certificates))
    layer.add("etc/os-release", pathlib.Path("/etc/os-release").read_bytes())
    users = f"root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:{USER}:{USER}:nonroot:/data:/sbin/nologin\n"
    layer.add("etc/passwd", users.encode())
    layer.add("etc/group", f"root:x:0:\nnonroot:x:{USER}:\n".encode())
    layer.add("etc/nsswitch.conf", b"hosts: files dns\n")
    layer.add("root", mode=0o700)
    layer.add("data", mode=0o755, owner=USER)
    layer.add("tmp", mode=0o1777)
    return layer


def check_libraries(*layers):
    """Fails if a library is missing that a file of the image is linked with."""
    entries = {path: data for layer in layers for path, (_, data) in layer.entries.items()}
    present = {path.rpartition("/")[2] for path in entries}
    for path, data in entries.items():
        if not (data or b"").startswith(b"\x7fELF"):
            continue
        with tempfile.NamedTemporaryFile() as scratch:
            scratch.write(data)
            scratch.flush()
            dynamic = output_of("readelf", "--dynamic", scratch.name)
        needed = re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic)
        missing = sorted(set(needed) - present)
        if missing:
            sys.exit(f"oci.py: the image lacks {', '.join(missing)}, which {path} is linked with")


class Layout:
    """An image layout: https://github.com/opencontainers/image-spec/blob/main/image-layout.md"""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        subprocess.run(["rm", "-rf", folder], check=True)
        (self.folder / "blobs" / "sha256").mkdir(parents=True)
        (self.folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}\n')

    def blob(self, kind, data):
        """Stores a blob; its descriptor."""
        digest = hashlib.sha256(data).hexdigest()
        (self.folder / "blobs" / "sha256" / digest).write_bytes(data)
        kind = f"application/vnd.oci.image.{kind}"
        return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(data)}

    def document(self, kind, content):
        return self.blob(kind + "+json", json.dumps(content, sort_keys=True).encode())


def main():
    package, version, output, cache = sys.argv[1:]
    cache = pathlib.Path(cache).resolve()
    folder = pathlib.Path(__file__).resolve().parent
    epoch = int(
        os.environ.get("SOURCE_DATE_EPOCH")
        or output_of("git", "-C", str(folder), "log", "-1", "--format=%ct")
    )
    base = base_layer(download(closure(package), cache), epoch)
    program = Layer(epoch)
    program.add_package(package)
    check_libraries(base, program)

    layout = Layout(f"{output}/gqlrun-{version}-oci")
    layers, identities = [], []
    for layer in (base, program):
        archive = layer.archive()
        identities.append("sha256:" + hashlib.sha256(archive).hexdigest())
        layers.append(layout.blob("layer.v1.tar+gzip", gzip.compress(archive, 9, mtime=0)))
    created = output_of("date", "--utc", f"--date=@{epoch}", "+%Y-%m-%dT%H:%M:%SZ").strip()
    machine = {"amd64": "amd64", "arm64": "arm64"}[output_of("dpkg", "--print-architecture").strip()]
    config = layout.document("config.v1", {
        "created": created,
        "architecture": machine,
        "os": "linux",
        "config": {
            "User": f"{USER}:{USER}",
            "WorkingDir": "/data",
            "Env": ["PATH=/usr/bin", "HOME=/data"],
            "Entrypoint": ["/usr/bin/gqlrun"],
            "Labels": {
                "org.opencontainers.image.title": "gqlrun",
                "org.opencontainers.image.version": version,
                "org.opencontainers.image.licenses": "MIT",
            },
        },
        "rootfs": {"type": "layers", "diff_ids": identities},
        "history": [
            {"created": created, "created_by": name} for name in ("Debian packages", "gqlrun")
        ],
    })
    manifest = layout.document("manifest.v1", {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config,
        "layers": layers,
    })
    manifest["annotations"] = {"org.opencontainers.image.ref.name": version}
    manifest["platform"] = {"architecture": machine, "os": "linux"}
    index = {"schemaVersion": 2, "manifests": [manifest]}
    (layout.folder / "index.json").write_text(json.dumps(index, sort_keys=True) + "\n")
    print(layout.folder)


main()
