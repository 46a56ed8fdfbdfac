"""Reads the dataset and writes evaluation.json and the model card, in the form of the built-in trainers.

It needs only Python. The same file is in the examples for Keras and PyTorch.
"""

import hashlib
import json
import math
import os
import platform
import resource
import sys

SPLITS = ("train", "validation", "test")


def read_dataset(file):
    """Lines of images with exactly one label by split, the labels in order, and what is left out with its reason."""
    by_split = {split: [] for split in SPLITS}
    skipped = []
    with open(file, encoding="utf-8") as stream:
        for line in map(json.loads, stream):
            labels = {one["annotation_label"] for one in line["classification_annotations"]}
            if len(labels) == 1:
                line["label"] = labels.pop()
                # Jobs of the platform name the split of each image; an export may have none.
                by_split[line.get("split", "train")].append(line)
            else:
                skipped.append(skip(line, f"it has {len(labels)} labels"))
    labels = sorted({line["label"] for lines in by_split.values() for line in lines})
    if len(labels) < 2:
        sys.exit(f"two labels are needed, the dataset has {labels}")
    return by_split, labels, skipped


def skip(line, reason):
    return {"image_path": line["image_path"], "file_name": line.get("file_name", ""), "reason": reason}


def wilson(share, count):
    """Wilson's 95 % interval of a share over `count` cases."""
    if count <= 0:
        return {"low": 0, "high": 1}
    z = 1.959963984540054
    scale = 1 + z**2 / count
    center = (share + z**2 / (2 * count)) / scale
    half = z / scale * math.sqrt(share * (1 - share) / count + z**2 / (4 * count**2))
    return {"low": max(0, center - half), "high": min(1, center + half)}


def intervals(hits, predicted, support):
    """As in the model cards of built-in trainers: nothing without cases."""
    found = {}
    if support > 0:
        if predicted > 0:
            found["precision"] = wilson(hits / predicted, predicted)
        found["recall"] = wilson(hits / support, support)
        # F1 is 2s / (1 + s) of the share s of hits among all cases.
        cases = support + predicted - hits
        share = wilson(hits / cases, cases)
        found["f1"] = {end: 2 * share[end] / (1 + share[end]) for end in ("low", "high")}
    return {name: {end: round(value, 4) for end, value in one.items()} for name, one in found.items()}


def class_reports(confusion, labels):
    reports = []
    for k, label in enumerate(labels):
        hits, support = confusion[k][k], sum(confusion[k])
        predicted = sum(row[k] for row in confusion)
        precision = hits / predicted if predicted else 0
        recall = hits / support if support else 0
        f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0
        report = {"label": label, "precision": precision, "recall": recall, "f1": f1, "support": support}
        report["intervals_95"] = intervals(hits, predicted if hits else 0, support)
        reports.append(report)
    return reports


def score(truth, probabilities, labels):
    """Accuracy, macro F1 over labels with images, the rows of the labels, and the confusion matrix."""
    confusion = [[0] * len(labels) for _ in labels]
    for true, row in zip(truth, probabilities):
        confusion[true][argmax(row)] += 1
    reports = class_reports(confusion, labels)
    present = [one["f1"] for one in reports if one["support"] > 0]
    hits = sum(confusion[k][k] for k in range(len(labels)))
    return {
        "accuracy": hits / len(truth) if truth else 0,
        "macro_f1": sum(present) / len(present) if present else 0,
        "per_class": reports,
        "confusion": confusion,
    }


def argmax(row):
    return max(range(len(row)), key=lambda k: row[k])


def worst(lines, truth, probabilities, labels):
    """Wrong predictions, the most certain first; at most 20."""
    found = []
    for line, true, row in zip(lines, truth, probabilities):
        guess = argmax(row)
        if guess != true:
            kept = {key: line[key] for key in ("image_path", "file_name", "sha256", "binary_data_id") if key in line}
            found.append({**kept, "label": labels[true], "predicted": labels[guess], "probability": float(row[guess])})
    return sorted(found, key=lambda one: -one["probability"])[:20]


def sha256_of(file):
    digest = hashlib.sha256()
    with open(file, "rb") as stream:
        for chunk in iter(lambda: stream.read(1 << 20), b""):
            digest.update(chunk)
    return digest.hexdigest()


def write(folder, *, by_split, labels, skipped, result, probabilities, model_file, weights_file, curve, probe, **about):
    """Writes labels.txt, evaluation.json, model_card.json and model_card.md.

    about: side, seconds (total, probe, fine_tune, evaluation), device (name, reason), latency_ms, max_difference,
    versions, recipe.
    """
    split = "test" if by_split["test"] else "validation"
    held_out = by_split[split]
    truth = [labels.index(line["label"]) for line in held_out]
    scores = {"accuracy": result["accuracy"], "macro_f1": result["macro_f1"]}
    path = os.path.join(folder, model_file)
    model = {
        "file": model_file,
        "size_bytes": os.path.getsize(path),
        "sha256": sha256_of(path),
        "latency_ms": about["latency_ms"],
        "max_difference": about["max_difference"],
    }
    pretrained = {"name": os.path.basename(weights_file), "sha256": sha256_of(weights_file)}
    counts = {name: len(by_split[name]) for name in SPLITS} | {"skipped": len(skipped)}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    evaluation = {
        "format": 1,
        "task": "single_label_classification",
        "labels": labels,
        "evaluated_on": split,
        "count": len(held_out),
        "chosen": "fine-tune",
        "images": counts,
        "skipped": skipped[:100],
        "seed": about["recipe"]["seed"],
        "side": about["side"],
        "seconds": about["seconds"],
        "model": model,
        "files": [model],
        "pretrained": pretrained,
        "versions": {"python": platform.python_version(), **about["versions"]},
        "machine": {"cpu": platform.processor() or platform.machine(), "cores": os.cpu_count(), "peak_rss_mib": peak},
        "device": about["device"],
        "advice": [],
        **result,
        "probe": probe,
        "fine_tuned": scores,
        "curve": curve,
        "worst": worst(held_out, truth, probabilities, labels),
    }
    card = {
        "name": os.environ.get("PLATFORM_MODEL_NAME", "model"),
        "task": evaluation["task"],
        "labels": labels,
        "input": {"name": "image", "type": "uint8", "shape": [1, about["side"], about["side"], 3], "layout": "NHWC, RGB"},
        "output": {"name": "probability", "type": "float32", "shape": [1, len(labels)], "meaning": "sums to 1"},
        "files": [model],
        "pretrained": pretrained,
        "dataset": {"images": counts},
        "preprocessing": [f"The image is stretched to {about['side']} × {about['side']} px."],
        "result": {
            "evaluated_on": split,
            "count": len(held_out),
            **scores,
            "chosen": "fine-tune",
            "interval_95": wilson(scores["accuracy"], len(held_out)),
        },
        "per_class": evaluation["per_class"],
        "confusion": evaluation["confusion"],
        "training": {
            "seed": evaluation["seed"],
            "recipe": about["recipe"],
            "epochs_run": len(curve),
            **{key: evaluation[key] for key in ("seconds", "device", "machine", "versions")},
        },
        "limits": ["It gives one of its labels for every image, also for images of other things."],
    }
    for name, content in (("evaluation.json", evaluation), ("model_card.json", card)):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as stream:
            json.dump(content, stream, ensure_ascii=False, indent=2, allow_nan=False)
    with open(os.path.join(folder, "labels.txt"), "w", encoding="utf-8") as stream:
        stream.write("\n".join(labels))
    with open(os.path.join(folder, "model_card.md"), "w", encoding="utf-8") as stream:
        stream.write(card_text(card))


def card_text(card):
    low, high = (f"{100 * card['result']['interval_95'][end]:.1f}" for end in ("low", "high"))
    result = card["result"]
    rows = [
        f"| {one['label']} | {one['precision']:.2f} | {one['recall']:.2f} | {one['f1']:.2f} | {one['support']} |"
        for one in card["per_class"]
    ]
    return "\n".join(
        [
            f"# {card['files'][0]['file']}",
            "",
            f"{100 * result['accuracy']:.1f} % ({low} to {high} %) of {result['count']} held-out images"
            f" ({result['evaluated_on']}) are right.",
            "",
            "| label | precision | recall | F1 | held-out images |",
            "|---|---|---|---|---|",
            *rows,
            "",
            f"Pretrained weights: {card['pretrained']['name']}, sha256 {card['pretrained']['sha256']}.",
            f"Trained on {card['training']['device']['name']}. {card['training']['device']['reason']}",
            "",
            *[f"- {line}" for line in [*card["preprocessing"], *card["limits"]]],
            "",
        ]
    )


class Checkpoint:
    """The state of a training in the folder that outlives an attempt. A kill leaves the old state or the new one."""

    def __init__(self, suffix, folder=None):
        self.folder = folder or os.environ.get("PLATFORM_CHECKPOINT_DIR", "checkpoints")
        self.suffix = suffix
        os.makedirs(self.folder, exist_ok=True)

    def load(self):
        """(state, file of the network), or None before the first one."""
        try:
            with open(os.path.join(self.folder, "state.json"), encoding="utf-8") as stream:
                state = json.load(stream)
        except FileNotFoundError:
            return None
        return state["state"], os.path.join(self.folder, state["file"])

    def save(self, state, save_network):
        """`save_network` writes the network to the path that it gets."""
        name = f"network-{len(state['curve'])}{self.suffix}"
        save_network(os.path.join(self.folder, name))
        part = os.path.join(self.folder, "state.json.part")
        with open(part, "w", encoding="utf-8") as stream:
            json.dump({"state": state, "file": name}, stream)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(part, os.path.join(self.folder, "state.json"))
        for other in os.listdir(self.folder):
            if other.startswith("network-") and other != name:
                os.unlink(os.path.join(self.folder, other))


def weights_in(suffixes, name=None):
    """The operator's file of pretrained weights: the one of this name, or the only one."""
    folder = os.environ.get("PLATFORM_WEIGHTS_DIR")
    if folder is None:
        sys.exit("This runner has no folder of weights. Its operator starts it with --script-weights FOLDER.")
    found = sorted(one for one in os.listdir(folder) if one.endswith(suffixes))
    if name is not None and name not in found:
        sys.exit(f"There are no weights {name}; the runner has {found}.")
    if name is None and len(found) != 1:
        sys.exit(f"Choose the weights with the argument weights; the runner has {found}.")
    return os.path.join(folder, name or found[0])
