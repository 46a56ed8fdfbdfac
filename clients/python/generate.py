"""Makes src/platform_client/gen from the contract: messages, their types, calls, and the table of errors.

    python generate.py            writes
    python generate.py --check    only says what is not current, and fails

Needs the pinned generators of tools/python/requirements.txt (`npm run test:full` makes .cache/python with them) and
Node 24: the one that the environment variable NODE names, or that of the repository, or `node`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

here = Path(__file__).resolve().parent
contract = here.parent.parent / "packages" / "contract"
target = here / "src" / "platform_client" / "gen"

# The services that the client calls, and what their messages refer to.
protos = [
    "proto/rpc/v1/auth.proto",
    "platform/app/data/v1/data.proto",
    "platform/app/dataset/v1/dataset.proto",
    "platform/app/datasync/v1/data_sync.proto",
    "platform/app/mltraining/v1/ml_training.proto",
    "platform/app/packages/v1/packages.proto",
    "platform/runner/v1/runner.proto",
    "platform/session/v1/session.proto",
]

# Only their messages are needed.
unused = {"runner_grpc.py"}

# Python's protobuf has one registry of type names for a process. Other clients register proto.rpc.v1, too; where both
# are imported, that would be an error. Messages carry no type names: only the path of the calls has to stay.
renamed = {"proto.rpc.v1": "platform.auth.v1"}
moved = {"proto/rpc/v1/auth.proto": "platform/auth/v1/auth.proto"}


def stage(folder: Path) -> list[str]:
    """Copies the protos so that modules become platform_client.gen.…: a package `platform` would hide Python's own."""
    inside = "platform_client/gen/"
    names = []
    for proto in protos:
        text = (contract / "proto" / proto).read_text("utf8")
        text = re.sub(r'(?m)^import "platform/', f'import "{inside}platform/', text)
        for old, new in renamed.items():
            text = text.replace(f"package {old};", f"package {new};")
        name = inside + moved.get(proto, proto)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf8")
        names.append(name)
    return names


def compile_protos(staged: Path, names: list[str], out: Path) -> None:
    programs = Path(sys.executable).parent
    subprocess.run(
        [
            sys.executable,
            "-m",
            "grpc_tools.protoc",
            f"--proto_path={staged}",
            # google/rpc: its Python code is that of googleapis-common-protos.
            f"--proto_path={contract / 'proto'}",
            f"--plugin=protoc-gen-mypy={programs / 'protoc-gen-mypy'}",
            f"--plugin=protoc-gen-grpclib_python={programs / 'protoc-gen-grpclib_python'}",
            f"--python_out={out}",
            f"--mypy_out=quiet:{out}",
            f"--grpclib_python_out={out}",
            *names,
        ],
        check=True,
    )
    for file in out.rglob("*_grpc.py"):
        text = file.read_text("utf8")
        for old, new in renamed.items():
            text = text.replace(f"'/{new}.", f"'/{old}.")
        file.write_text(text, "utf8")
        if "\nclass " not in text or file.name in unused:
            file.unlink()


def error_table() -> str:
    own = next((here.parent.parent / "tools" / "node" / "node_modules").glob("node-*/bin/node"), "node")
    node = os.environ.get("NODE", str(own))
    source = (contract / "src" / "errors" / "errors.ts").as_uri()
    program = f"import {{ errorTable }} from '{source}'; console.log(JSON.stringify(errorTable));"
    done = subprocess.run([node, "--input-type=module", "-e", program], check=True, stdout=subprocess.PIPE, text=True)
    lines = [
        '"""Every failure that the server names: gRPC status, retry, remedy. Made by generate.py."""',
        "",
        "from typing import Final",
        "",
        "ERROR_TABLE: Final[dict[str, tuple[str, str, str]]] = {",
    ]
    for code, row in json.loads(done.stdout).items():
        fields = ", ".join(json.dumps(row[field], ensure_ascii=False) for field in ("rpc", "retry", "remedy"))
        lines.append(f"    {json.dumps(code)}: ({fields}),")
    return "\n".join([*lines, "}", ""])


def generate(out: Path) -> None:
    """Writes the tree platform_client/gen under `out`."""
    with tempfile.TemporaryDirectory() as staged:
        compile_protos(Path(staged), stage(Path(staged)), out)
    made = out / "platform_client" / "gen"
    (made / "error_table.py").write_text(error_table(), "utf8")
    for folder in [made, *(item for item in made.rglob("*") if item.is_dir())]:
        (folder / "__init__.py").write_text("", "utf8")


def contents(folder: Path) -> dict[str, str]:
    files = (file for file in folder.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
    return {str(file.relative_to(folder)): file.read_text("utf8") for file in files}


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder))
        made = Path(folder) / "platform_client" / "gen"
        if sys.argv[1:] == ["--check"]:
            wanted, found = contents(made), contents(target)
            stale = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
            for name in stale:
                print(f"{target.relative_to(here) / name} is not current", file=sys.stderr)
            if stale:
                print("Run .cache/python/bin/python clients/python/generate.py", file=sys.stderr)
            return 1 if stale else 0
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(made, target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
