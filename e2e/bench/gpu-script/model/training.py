"""Trains a small network with PyTorch on the GPU that the job asked for; ends with an error where there is none."""

import argparse
import json
import os
import time

import numpy
import torch
from PIL import Image

SIDE = 96


def parse_flags():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dataset_file", required=True)
    parser.add_argument("--model_output_directory", required=True)
    parser.add_argument("--epochs", type=int, default=30)
    return parser.parse_args()


def load(lines, labels, device):
    images = [numpy.asarray(Image.open(line["image_path"]).convert("RGB").resize((SIDE, SIDE))) for line in lines]
    pixels = torch.from_numpy(numpy.stack(images)).permute(0, 3, 1, 2).to(device, torch.float32).div_(127.5).sub_(1)
    names = [line["classification_annotations"][0]["annotation_label"] for line in lines]
    return pixels, torch.tensor([labels.index(name) for name in names], device=device)


def network(classes):
    layers = []
    width = 3
    for out in (32, 64, 128, 256):
        layers += [torch.nn.Conv2d(width, out, 3, padding=1), torch.nn.BatchNorm2d(out), torch.nn.ReLU(), torch.nn.MaxPool2d(2)]
        width = out
    return torch.nn.Sequential(*layers, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(width, classes))


def main():
    flags = parse_flags()
    visible = torch.cuda.device_count()
    print(f"{visible} GPU visible, CUDA_VISIBLE_DEVICES={os.environ.get('CUDA_VISIBLE_DEVICES')}", flush=True)
    if visible == 0:
        raise SystemExit("no GPU in the sandbox")
    device = torch.device("cuda:0")
    print(f"torch {torch.__version__} on {torch.cuda.get_device_name(device)}", flush=True)
    torch.manual_seed(1)
    with open(flags.dataset_file, encoding="utf-8") as stream:
        lines = [line for line in map(json.loads, stream) if len(line["classification_annotations"]) == 1]
    labels = sorted({line["classification_annotations"][0]["annotation_label"] for line in lines})
    pixels, targets = load(lines, labels, device)
    model = network(len(labels)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    started = time.perf_counter()
    for epoch in range(flags.epochs):
        order = torch.randperm(len(lines), device=device)
        for batch in order.split(32):
            loss = torch.nn.functional.cross_entropy(model(pixels[batch]), targets[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    torch.cuda.synchronize()
    model.eval()
    with torch.no_grad():
        right = (model(pixels).argmax(1) == targets).float().mean().item()
    seconds = time.perf_counter() - started
    used = torch.cuda.max_memory_allocated() / 2**20
    print(f"trained {flags.epochs} epochs of {len(lines)} images in {seconds:.1f} s, {used:.0f} MiB, {right:.1%} of them right", flush=True)
    torch.save(model.state_dict(), os.path.join(flags.model_output_directory, "model.pt"))
    with open(os.path.join(flags.model_output_directory, "labels.txt"), "w", encoding="utf-8") as stream:
        stream.write("\n".join(labels) + "\n")


main()
