"""Fine-tunes a timm backbone with the operator's weights for single-label classification.

The weights are a state dict of timm.create_model(ARCHITECTURE, num_classes=0), saved as ARCHITECTURE.pt or
ARCHITECTURE.safetensors, such as mobilenetv3_large_100.safetensors.
Each epoch leaves a checkpoint, so a later attempt of the job goes on from there.
"""

import argparse
import json
import math
import os
import random
import signal
import sys
import time

import numpy as np
import onnx
import timm
import torch
from PIL import Image, ImageOps, UnidentifiedImageError
from torch import nn

from model import report


def parse_flags():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dataset_file", required=True)
    parser.add_argument("--model_output_directory", required=True)
    parser.add_argument("--weights", help="file in the operator's folder; not needed if there is only one")
    parser.add_argument("--side", type=int, default=224)
    parser.add_argument("--probe_epochs", type=int, default=5, help="epochs of the new layer alone")
    parser.add_argument("--epochs", type=int, default=10, help="epochs of all layers")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--learning_rate", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def load_images(lines, labels, side, skipped):
    """Images as uint8 [n, side, side, 3] and class numbers; what cannot be decoded leaves `lines`."""
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
    stacked = np.stack(images) if images else np.zeros((0, side, side, 3), np.uint8)
    return torch.from_numpy(stacked), torch.tensor(classes, dtype=torch.long)


class Classifier(nn.Module):
    """Takes images as they are: uint8 [n, side, side, 3]."""

    def __init__(self, architecture, classes):
        super().__init__()
        self.backbone = timm.create_model(architecture, pretrained=False, num_classes=0)
        config = timm.data.resolve_model_data_config(self.backbone)
        self.register_buffer("mean", 255 * torch.tensor(config["mean"]).view(1, 3, 1, 1))
        self.register_buffer("std", 255 * torch.tensor(config["std"]).view(1, 3, 1, 1))
        self.head = nn.Linear(self.backbone.num_features, classes)

    def forward(self, images):
        return self.head(self.backbone((images.permute(0, 3, 1, 2).float() - self.mean) / self.std))


def load_weights(file):
    if file.endswith(".safetensors"):
        from safetensors.torch import load_file

        return load_file(file)
    # Only tensors: a pickle could run code.
    return torch.load(file, map_location="cpu", weights_only=True)


def logits_of(network, images, device, batch):
    network.eval()
    with torch.inference_mode():
        parts = [network(images[at : at + batch].to(device)).cpu() for at in range(0, len(images), batch)]
    return torch.cat(parts) if parts else torch.zeros((0, network.head.out_features))


def train_from(network, optimizer, state, data, flags, checkpoint, device, stopping):
    """Trains epoch by epoch. Only the head learns in the first ones, then everything with a tenth of the rate."""
    images, classes, check, truth = data
    total = flags.probe_epochs + flags.epochs
    loss_of = nn.CrossEntropyLoss()
    while len(state["curve"]) < total:
        epoch = len(state["curve"]) + 1
        stage = "probe" if epoch <= flags.probe_epochs else "fine-tune"
        for parameter in network.backbone.parameters():
            parameter.requires_grad = stage == "fine-tune"
        for group in optimizer.param_groups:
            group["lr"] = flags.learning_rate * (1 if stage == "probe" else 0.1)
        network.train()
        if stage == "probe":
            network.backbone.eval()
        started = time.monotonic()
        # The same seed gives the same order, whichever attempt runs the epoch.
        order = list(range(len(images)))
        random.Random(f"{flags.seed}-{epoch}").shuffle(order)
        sums = 0.0
        for first in range(0, len(order), flags.batch):
            some = order[first : first + flags.batch]
            batch = images[some].to(device)
            if (first // flags.batch + epoch) % 2:
                batch = batch.flip(2)
            loss = loss_of(network(batch), classes[some].to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            sums += float(loss) * len(some)
            if stopping["asked"]:
                sys.exit("stopped on request; a later attempt goes on from the last checkpoint")
        if not math.isfinite(sums):
            sys.exit("the loss is no longer a number: choose a smaller learning_rate")
        point = {"epoch": epoch, "stage": stage, "loss": sums / len(order), "seconds": round(time.monotonic() - started, 3)}
        logits = logits_of(network, check, device, flags.batch)
        point["validation_loss"] = float(loss_of(logits, truth)) if len(check) else None
        point["validation_accuracy"] = float((logits.argmax(1) == truth).float().mean()) if len(check) else None
        state["curve"].append(point)
        content = {"network": network.state_dict(), "optimizer": optimizer.state_dict()}
        checkpoint.save(state, lambda file: torch.save(content, file))
        shown = {key: value for key, value in point.items() if value is not None}
        print(json.dumps({**shown, "progress": epoch / (total + 1)}))


def export(network, side, file):
    """model.onnx with the input `image` (uint8 [1, side, side, 3]) and the output `probability`: machines run it."""
    whole = nn.Sequential(network.cpu().eval(), nn.Softmax(dim=1))
    example = torch.zeros((1, side, side, 3), dtype=torch.uint8)
    torch.onnx.export(whole, (example,), file, input_names=["image"], output_names=["probability"], dynamo=False)
    onnx.checker.check_model(onnx.load(file))


def run_file(file, images):
    """Probabilities of the delivered file and the median time per image in ms; None without ONNX Runtime."""
    try:
        import onnxruntime
    except ImportError:
        return None, None
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    rows, times = [], []
    for image in images.numpy():
        started = time.perf_counter()
        rows.append(session.run(["probability"], {"image": image[None]})[0][0])
        times.append(1000 * (time.perf_counter() - started))
    return np.array(rows), round(float(np.median(times)), 3)


def main():
    started = time.monotonic()
    flags = parse_flags()
    stopping = {"asked": False}
    signal.signal(signal.SIGTERM, lambda *_: stopping.update(asked=True))
    torch.manual_seed(flags.seed)
    by_split, labels, skipped = report.read_dataset(flags.dataset_file)
    weights_file = report.weights_in((".pt", ".pth", ".safetensors"), flags.weights)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    reason = f"PyTorch sees {torch.cuda.device_count()} GPUs."
    print(reason)

    network = Classifier(os.path.basename(weights_file).rsplit(".", 1)[0], len(labels))
    checkpoint = report.Checkpoint(".pt")
    kept = checkpoint.load()
    state = kept[0] if kept else {"curve": []}
    content = load_weights(kept[1]) if kept else None
    if content is None:
        network.backbone.load_state_dict(load_weights(weights_file))
    else:
        network.load_state_dict(content["network"])
    network.to(device)
    optimizer = torch.optim.AdamW(network.parameters(), lr=flags.learning_rate)
    if content is not None:
        optimizer.load_state_dict(content["optimizer"])
    print(f"resumed after epoch {len(state['curve'])}" if kept else f"started from {os.path.basename(weights_file)}")

    images, classes = load_images(by_split["train"], labels, flags.side, skipped)
    check, truth = load_images(by_split["validation"], labels, flags.side, skipped)
    held_out, held_truth = (
        load_images(by_split["test"], labels, flags.side, skipped) if by_split["test"] else (check, truth)
    )
    if len(images) == 0 or len(held_out) == 0:
        sys.exit("there are no images to train on, or none to evaluate")
    train_from(network, optimizer, state, (images, classes, check, truth), flags, checkpoint, device, stopping)

    evaluating = time.monotonic()
    file = os.path.join(flags.model_output_directory, "model.onnx")
    own = logits_of(network, held_out, device, flags.batch).softmax(1).numpy()
    export(network, flags.side, file)
    delivered, latency = run_file(file, held_out)
    probabilities = own if delivered is None else delivered
    seconds = {stage: sum(one["seconds"] for one in state["curve"] if one["stage"] == stage) for stage in ("probe", "fine-tune")}
    report.write(
        flags.model_output_directory,
        by_split=by_split,
        labels=labels,
        skipped=skipped,
        result=report.score(held_truth.tolist(), probabilities.tolist(), labels),
        probabilities=probabilities.tolist(),
        model_file="model.onnx",
        weights_file=weights_file,
        curve=state["curve"],
        probe=None,
        side=flags.side,
        seconds={
            "total": round(time.monotonic() - started, 3),
            "probe": seconds["probe"],
            "fine_tune": seconds["fine-tune"],
            "evaluation": round(time.monotonic() - evaluating, 3),
        },
        device={"name": device, "reason": reason},
        latency_ms=latency,
        max_difference=None if delivered is None else float(np.abs(delivered - own).max()),
        versions={"torch": torch.__version__, "timm": timm.__version__},
        recipe={key: value for key, value in vars(flags).items() if not key.endswith(("_file", "_directory"))},
    )
    print("saved model.onnx")


if __name__ == "__main__":
    main()
