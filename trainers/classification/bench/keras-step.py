"""CPU time of one training step per image in TensorFlow: the same network, size and batch as speed.ts, one thread.

python keras-step.py [STEPS] [FROM,...] [mobilenet|Lite0|Lite2]

Prints one JSON object per line: {"from", "cpu_ms", "wall_ms", "rss_mib"}. `from` counts convolutions, as speed.ts does.
MobileNetV2 is the one of Keras: batch normalisation runs with its stored statistics and is not trained. Lite0 and Lite2
are built here with folded batch normalisation, as ours are.
"""

import json
import os
import resource
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
SIDE, BATCH, CLASSES, WARM_UP = 160, 8, 10, 3
steps = int(sys.argv[1]) if len(sys.argv) > 1 else 12

# Blocks and channels of each stage; kernel, stride and expansion of all of them.
LITE = {
    "Lite0": ([1, 2, 2, 3, 3, 4, 1], [16, 24, 40, 80, 112, 192, 320]),
    "Lite2": ([1, 3, 3, 4, 4, 5, 1], [16, 24, 48, 88, 120, 208, 352]),
}
STAGES = [(3, 1, 1), (3, 2, 6), (5, 2, 6), (3, 2, 6), (5, 1, 6), (5, 2, 6), (3, 1, 6)]


def lite(name):
    layers = tf.keras.layers
    inputs = layers.Input((SIDE, SIDE, 3))

    def conv(x, filters, kernel, stride=1, relu=True):
        x = layers.Conv2D(filters, kernel, stride, padding="same")(x)
        return layers.ReLU(6.0)(x) if relu else x

    x = conv(inputs, 32, 3, 2)
    for blocks, filters, (kernel, stride, expansion) in zip(*LITE[name], STAGES):
        for block in range(blocks):
            start, step = x, stride if block == 0 else 1
            if expansion > 1:
                x = conv(x, x.shape[-1] * expansion, 1)
            x = layers.ReLU(6.0)(layers.DepthwiseConv2D(kernel, step, padding="same")(x))
            x = conv(x, filters, 1, relu=False)
            if step == 1 and start.shape[-1] == filters:
                x = layers.Add()([start, x])
    return tf.keras.Model(inputs, layers.GlobalAveragePooling2D()(conv(x, 1280, 1)))


def network(name):
    if name in LITE:
        return lite(name)
    return tf.keras.applications.MobileNetV2((SIDE, SIDE, 3), include_top=False, weights=None, pooling="avg")


for first in [int(one) for one in (sys.argv[2] if len(sys.argv) > 2 else "0,30,46").split(",")]:
    base = network(sys.argv[3] if len(sys.argv) > 3 else "mobilenet")
    number = 0
    for layer in base.layers:
        convolution = isinstance(layer, (tf.keras.layers.Conv2D, tf.keras.layers.DepthwiseConv2D))
        layer.trainable = convolution and number >= first
        number += convolution
    model = tf.keras.Sequential([base, tf.keras.layers.Dense(CLASSES)])
    optimizer = tf.keras.optimizers.Adam(1e-4)
    loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    random = np.random.default_rng(1)
    images = tf.constant(random.random((BATCH, SIDE, SIDE, 3), np.float32) * 2 - 1)
    labels = tf.constant(random.integers(0, CLASSES, BATCH))

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = loss_of(labels, model(images, training=False))
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    optimizer.build(model.trainable_variables)
    for _ in range(WARM_UP):
        step()
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(steps):
        step().numpy()
    count = steps * BATCH
    print(
        json.dumps(
            {
                "from": first,
                "cpu_ms": (time.process_time() - cpu) * 1000 / count,
                "wall_ms": (time.perf_counter() - wall) * 1000 / count,
                "rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            }
        ),
        flush=True,
    )
