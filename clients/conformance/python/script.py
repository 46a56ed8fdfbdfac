"""A training script that learns nothing and shows all that it was given."""

from __future__ import annotations

import io
import tarfile

TRAINING = """
import argparse, json, os, pathlib, sys

flags = argparse.ArgumentParser()
flags.add_argument("--dataset_file", required=True)
flags.add_argument("--model_output_directory", required=True)
flags.add_argument("--epochs", type=int, default=1)
given = flags.parse_args()
lines = [json.loads(line) for line in open(given.dataset_file)]
sizes = [os.path.getsize(line["image_path"]) for line in lines]
labels = sorted({one["annotation_label"] for line in lines for one in line["classification_annotations"]})
print("epochs", given.epochs, "images", len(sizes), "labels", *labels)
print("a warning", file=sys.stderr)
assert os.environ["API_KEY"] and os.environ["API_KEY_ID"]
if given.epochs == 0:
    sys.exit("nothing to do")
out = pathlib.Path(given.model_output_directory)
(out / "model.json").write_text(json.dumps({"bytes": sum(sizes)}))
(out / "labels.txt").write_text("\\n".join(labels))
"""

SETUP = 'from setuptools import setup\nsetup(name="model", version="1", packages=["model"])\n'


def archive() -> bytes:
    """The script as a .tar.gz, in a folder as archives usually have one."""
    files = {"setup.py": SETUP, "model/__init__.py": "", "model/training.py": TRAINING}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as out:
        for name, content in files.items():
            entry = tarfile.TarInfo(f"script/{name}")
            entry.size = len(content.encode())
            out.addfile(entry, io.BytesIO(content.encode()))
    return packed.getvalue()
