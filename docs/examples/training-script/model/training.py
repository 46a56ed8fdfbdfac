"""Classifies images by the bytes of their files: the nearest mean of each label.

As a model it is a toy. It shows all that a training script has to do, and needs nothing but Python:
read the dataset, report, stop on SIGTERM, and leave files that become a version of a model.
"""

import argparse
import json
import math
import os
import signal
import sys


def parse_flags():
    parser = argparse.ArgumentParser()
    # These two are always given.
    parser.add_argument("--dataset_file", required=True)
    parser.add_argument("--model_output_directory", required=True)
    # This one comes from the arguments of the job, as text.
    parser.add_argument("--bins", type=int, default=64, help="number of byte ranges, 2 to 256")
    flags = parser.parse_args()
    if not 2 <= flags.bins <= 256:
        parser.error("--bins must be 2 to 256")
    return flags


def read_dataset(file):
    """The lines whose image carries exactly one label: (path, label, whether it is held out)."""
    with open(file, encoding="utf-8") as stream:
        for line in map(json.loads, stream):
            labels = [one["annotation_label"] for one in line["classification_annotations"]]
            if len(labels) == 1:
                # Jobs of the platform name the split of each image; an export has no split.
                yield line["image_path"], labels[0], line.get("split") == "validation"


def features(path, bins):
    """How often bytes of each size occur, as a vector of length 1."""
    counts = [0.0] * bins
    with open(path, "rb") as stream:
        for byte in stream.read():
            counts[byte * bins // 256] += 1
    length = math.sqrt(sum(count * count for count in counts)) or 1.0
    return [count / length for count in counts]


def nearest(vector, means):
    return min(means, key=lambda label: sum((a - b) ** 2 for a, b in zip(vector, means[label])))


def main():
    flags = parse_flags()
    # A cancel: there are some seconds left to save what is worth saving.
    stop = {"asked": False}
    signal.signal(signal.SIGTERM, lambda *_: stop.update(asked=True))

    images = list(read_dataset(flags.dataset_file))
    labels = sorted({label for _, label, _ in images})
    if len(labels) < 2:
        sys.exit(f"two labels are needed, the dataset has {labels}")
    print(f"{len(images)} images of {', '.join(labels)}")

    means, seen, held_out = {}, {}, []
    for done, (path, label, is_held_out) in enumerate(images, start=1):
        if stop["asked"]:
            sys.exit("stopped before the last image")
        try:
            vector = features(path, flags.bins)
        except OSError as error:
            # A line on stderr is an error in the log; it does not fail the job.
            print(f"skipped {path}: {error}", file=sys.stderr)
            continue
        if is_held_out:
            held_out.append((vector, label))
        else:
            seen[label] = seen.get(label, 0) + 1
            mean = means.setdefault(label, [0.0] * flags.bins)
            means[label] = [a + (b - a) / seen[label] for a, b in zip(mean, vector)]
        if done % 10 == 0 or done == len(images):
            # A line that is JSON with `progress` moves the bar.
            print(json.dumps({"progress": done / len(images)}))

    hits = [nearest(vector, means) == label for vector, label in held_out]
    # One with `epoch` or `loss` is a point of the job's curves.
    accuracy = sum(hits) / len(hits) if hits else None
    print(json.dumps({"epoch": 1, **({} if accuracy is None else {"validation_accuracy": round(accuracy, 4)})}))

    out = flags.model_output_directory
    with open(os.path.join(out, "model.json"), "w", encoding="utf-8") as stream:
        json.dump({"bins": flags.bins, "means": means}, stream)
    with open(os.path.join(out, "labels.txt"), "w", encoding="utf-8") as stream:
        stream.write("\n".join(labels))
    print("saved model.json")


if __name__ == "__main__":
    main()
