"""Classifies images by what they look like from far away: one linear layer over a small copy of the image.

It runs on any host within seconds, and shows all that a training script has to do:
read the dataset, report, stop on SIGTERM, and leave a model that machines can run.
"""

import argparse
import json
import os
import signal
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from PIL import Image, UnidentifiedImageError


def parse_flags() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    # These two are always given.
    parser.add_argument("--dataset_file", required=True)
    parser.add_argument("--model_output_directory", required=True)
    # These come from the arguments of the job, as text.
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--side", type=int, default=24)
    parser.add_argument("--learning_rate", type=float, default=0.5)
    return parser.parse_args()


def read_dataset(file: str, side: int) -> tuple[np.ndarray, np.ndarray, list[str], np.ndarray]:
    """Images in 0..1, class numbers, labels, and which images are held out for validation."""
    images, names, held_out = [], [], []
    with open(file, encoding="utf-8") as stream:
        for line in map(json.loads, stream):
            labels = [one["annotation_label"] for one in line["classification_annotations"]]
            if len(labels) != 1:
                continue
            try:
                with Image.open(line["image_path"]) as image:
                    small = image.convert("RGB").resize((side, side), Image.Resampling.BILINEAR)
            except (OSError, UnidentifiedImageError) as error:
                # A line on stderr is an error in the log; it does not fail the job.
                print(f"skipped {line['image_path']}: {error}", file=sys.stderr)
                continue
            images.append(np.asarray(small, dtype=np.float32) / 255)
            names.append(labels[0])
            # Jobs of the platform name the split of each image; an export has no split.
            held_out.append(line.get("split") == "validation")
    labels = sorted(set(names))
    if len(labels) < 2:
        sys.exit(f"two labels are needed, the dataset has {labels}")
    classes = np.array([labels.index(name) for name in names])
    return np.stack(images), classes, labels, np.array(held_out)


def softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def save(folder: str, weights: np.ndarray, bias: np.ndarray, side: int, labels: list[str]) -> None:
    """model.onnx with the input `image` (uint8 [1, side, side, 3]) and the output `probability`, and labels.txt."""
    nodes = [
        helper.make_node("Cast", ["image"], ["float"], to=TensorProto.FLOAT),
        helper.make_node("Div", ["float", "highest"], ["scaled"]),
        helper.make_node("Flatten", ["scaled"], ["flat"]),
        helper.make_node("Gemm", ["flat", "weights", "bias"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["probability"], axis=1),
    ]
    graph = helper.make_graph(
        nodes,
        "color-classifier",
        [helper.make_tensor_value_info("image", TensorProto.UINT8, [1, side, side, 3])],
        [helper.make_tensor_value_info("probability", TensorProto.FLOAT, [1, len(labels)])],
        [
            numpy_helper.from_array(np.array(255, dtype=np.float32), "highest"),
            numpy_helper.from_array(weights.astype(np.float32), "weights"),
            numpy_helper.from_array(bias.astype(np.float32), "bias"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    onnx.save(model, os.path.join(folder, "model.onnx"))
    with open(os.path.join(folder, "labels.txt"), "w", encoding="utf-8") as stream:
        stream.write("\n".join(labels))


def main() -> None:
    flags = parse_flags()
    stop = {"asked": False}
    # A cancel: there are some seconds left to save what is worth saving.
    signal.signal(signal.SIGTERM, lambda *_: stop.update(asked=True))

    images, classes, labels, held_out = read_dataset(flags.dataset_file, flags.side)
    print(f"{len(images)} images of {', '.join(labels)}")
    flat = images.reshape(len(images), -1)
    mean = flat.mean(axis=0)
    train, check = flat[~held_out] - mean, flat[held_out] - mean
    truth = np.eye(len(labels))[classes[~held_out]]

    weights = np.zeros((flat.shape[1], len(labels)))
    bias = np.zeros(len(labels))
    for epoch in range(1, flags.epochs + 1):
        guess = softmax(train @ weights + bias)
        error = (guess - truth) / len(train)
        weights -= flags.learning_rate * (train.T @ error + 1e-4 * weights)
        bias -= flags.learning_rate * error.sum(axis=0)
        loss = float(-np.log(np.clip((guess * truth).sum(axis=1), 1e-9, 1)).mean())
        # A line that is JSON with `epoch` or `loss` is a point of a curve; `progress` moves the bar.
        report = {"epoch": epoch, "loss": round(loss, 5), "progress": epoch / flags.epochs}
        if len(check) > 0:
            hits = softmax(check @ weights + bias).argmax(axis=1) == classes[held_out]
            report["validation_accuracy"] = round(float(hits.mean()), 4)
        print(json.dumps(report))
        if stop["asked"]:
            sys.exit("stopped before the last epoch")

    # The mean goes into the bias, so that the model takes images as they are.
    save(flags.model_output_directory, weights, bias - mean @ weights, flags.side, labels)
    print("saved model.onnx")


if __name__ == "__main__":
    main()
