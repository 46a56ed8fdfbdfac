"""Fine-tunes a Keras 3 backbone of the operator's weights folder for single-label classification.

The weights are a .keras file of a network from float images [n, side, side, 3] in 0..255 to features [n, d], such as
keras.applications.EfficientNetV2B0(include_top=False, pooling="avg").save("efficientnetv2b0.keras").
Each epoch leaves a checkpoint, so a later attempt of the job goes on from there.
"""

import argparse
import json
import math
import os
import signal
import sys
import time

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
import keras
import numpy as np
import tensorflow as tf
from PIL import Image, ImageOps, UnidentifiedImageError

from model import report


def parse_flags():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dataset_file", required=True)
    parser.add_argument("--model_output_directory", required=True)
    parser.add_argument("--weights", help="file in the operator's folder; not needed if there is only one")
    parser.add_argument("--probe_epochs", type=int, default=5, help="epochs of the new layer alone")
    parser.add_argument("--epochs", type=int, default=10, help="epochs of all layers")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--learning_rate", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def load_images(lines, labels, side, skipped):
    """Images in 0..255 and class numbers; what cannot be decoded leaves `lines`."""
    images, classes = [], []
    for line in list(lines):
        try:
            with Image.open(line["image_path"], formats=("JPEG", "PNG", "WEBP")) as image:
                small = ImageOps.exif_transpose(image).convert("RGB").resize((side, side), Image.Resampling.LANCZOS)
        except (OSError, UnidentifiedImageError) as error:
            skipped.append(report.skip(line, str(error)))
            lines.remove(line)
            continue
        images.append(np.asarray(small, dtype=np.uint8))
        classes.append(labels.index(line["label"]))
    return np.stack(images) if images else np.zeros((0, side, side, 3), np.uint8), np.array(classes, dtype=np.int32)


def build(weights_file, labels):
    backbone = keras.models.load_model(weights_file, compile=False)
    backbone.trainable = False
    logits = keras.layers.Dense(len(labels), name="head")(backbone.output)
    return keras.Model(backbone.input, logits)


def train_from(network, state, data, flags, checkpoint, stopping):
    """Trains epoch by epoch. Only the head learns in the first ones, then everything with a tenth of the rate."""
    images, classes, check, truth = data
    total = flags.probe_epochs + flags.epochs
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    stage = None
    while len(state["curve"]) < total:
        epoch = len(state["curve"]) + 1
        now = "probe" if epoch <= flags.probe_epochs else "fine-tune"
        if now != stage:
            stage = now
            for layer in network.layers:
                layer.trainable = stage == "fine-tune" or layer.name == "head"
            rate = flags.learning_rate * (1 if stage == "probe" else 0.1)
            network.compile(optimizer=keras.optimizers.Adam(rate), loss=loss)
        started = time.monotonic()
        # The same seed gives the same order, whichever attempt runs the epoch.
        order = np.random.default_rng([flags.seed, epoch]).permutation(len(images))
        sums = 0.0
        for first in range(0, len(order), flags.batch):
            some = order[first : first + flags.batch]
            batch = images[some].astype(np.float32)
            if (first // flags.batch + epoch) % 2:
                batch = batch[:, :, ::-1]
            sums += float(network.train_on_batch(batch, classes[some])) * len(some)
            if stopping["asked"]:
                sys.exit("stopped on request; a later attempt goes on from the last checkpoint")
        if not math.isfinite(sums):
            sys.exit("the loss is no longer a number: choose a smaller learning_rate")
        point = {"epoch": epoch, "stage": stage, "loss": sums / len(order), "seconds": round(time.monotonic() - started, 3)}
        logits = network.predict_on_batch(check.astype(np.float32)) if len(check) else None
        point["validation_loss"] = None if logits is None else float(loss(truth, logits))
        point["validation_accuracy"] = None if logits is None else float((logits.argmax(axis=1) == truth).mean())
        state["curve"].append(point)
        checkpoint.save(state, network.save)
        shown = {key: value for key, value in point.items() if value is not None}
        print(json.dumps({**shown, "progress": epoch / (total + 1)}))


def export(network, side, file):
    """A TensorFlow Lite file that takes the image as it is: uint8 [1, side, side, 3]."""
    image = keras.Input(batch_shape=(1, side, side, 3), dtype="uint8", name="image")
    probability = keras.layers.Softmax(name="probability")(network(keras.ops.cast(image, "float32")))
    converter = tf.lite.TFLiteConverter.from_keras_model(keras.Model(image, probability))
    with open(file, "wb") as stream:
        stream.write(converter.convert())


def run_file(file, images):
    """Probabilities of the delivered file, and the median time per image in ms."""
    interpreter = tf.lite.Interpreter(model_path=file)
    interpreter.allocate_tensors()
    source, target = interpreter.get_input_details()[0]["index"], interpreter.get_output_details()[0]["index"]
    rows, times = [], []
    for image in images:
        started = time.perf_counter()
        interpreter.set_tensor(source, image[None])
        interpreter.invoke()
        rows.append(interpreter.get_tensor(target)[0].copy())
        times.append(1000 * (time.perf_counter() - started))
    return np.array(rows), round(float(np.median(times)), 3) if times else 0


def main():
    started = time.monotonic()
    flags = parse_flags()
    stopping = {"asked": False}
    signal.signal(signal.SIGTERM, lambda *_: stopping.update(asked=True))
    keras.utils.set_random_seed(flags.seed)
    by_split, labels, skipped = report.read_dataset(flags.dataset_file)
    weights_file = report.weights_in((".keras",), flags.weights)

    checkpoint = report.Checkpoint(".keras")
    kept = checkpoint.load()
    state = kept[0] if kept else {"curve": []}
    network = keras.models.load_model(kept[1], compile=False) if kept else build(weights_file, labels)
    print(f"resumed after epoch {len(state['curve'])}" if kept else f"started from {os.path.basename(weights_file)}")
    gpus = tf.config.list_physical_devices("GPU")
    reason = f"TensorFlow sees {len(gpus)} GPUs." if gpus else "TensorFlow sees no GPU."
    print(reason)

    side = network.input_shape[1] or 224
    images, classes = load_images(by_split["train"], labels, side, skipped)
    check, truth = load_images(by_split["validation"], labels, side, skipped)
    held_out, held_truth = (
        load_images(by_split["test"], labels, side, skipped) if by_split["test"] else (check, truth)
    )
    if len(images) == 0 or len(held_out) == 0:
        sys.exit("there are no images to train on, or none to evaluate")
    train_from(network, state, (images, classes, check, truth), flags, checkpoint, stopping)

    evaluating = time.monotonic()
    file = os.path.join(flags.model_output_directory, "model.tflite")
    export(network, side, file)
    probabilities, latency = run_file(file, held_out)
    own = keras.ops.convert_to_numpy(keras.ops.softmax(network.predict_on_batch(held_out.astype(np.float32))))
    seconds = {stage: sum(one["seconds"] for one in state["curve"] if one["stage"] == stage) for stage in ("probe", "fine-tune")}
    report.write(
        flags.model_output_directory,
        by_split=by_split,
        labels=labels,
        skipped=skipped,
        result=report.score(held_truth.tolist(), probabilities.tolist(), labels),
        probabilities=probabilities.tolist(),
        model_file="model.tflite",
        weights_file=weights_file,
        curve=state["curve"],
        probe=None,
        side=side,
        seconds={
            "total": round(time.monotonic() - started, 3),
            "probe": seconds["probe"],
            "fine_tune": seconds["fine-tune"],
            "evaluation": round(time.monotonic() - evaluating, 3),
        },
        device={"name": "cuda" if gpus else "cpu", "reason": reason},
        latency_ms=latency,
        max_difference=float(np.abs(probabilities - own).max()),
        versions={"keras": keras.__version__, "tensorflow": tf.__version__},
        recipe={key: value for key, value in vars(flags).items() if not key.endswith(("_file", "_directory"))},
    )
    print("saved model.tflite")


if __name__ == "__main__":
    main()
