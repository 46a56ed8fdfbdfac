"""CPU time of one training step per image in TensorFlow: the same network, size and batch as speed.ts, one thread.

Prints one JSON object per line: {"from", "cpu_ms", "wall_ms", "rss_mib"}. `from` counts convolutions, as speed.ts does;
batch normalisation runs with its stored statistics and is not trained, as in the folded network of ours.
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

for first in [int(one) for one in (sys.argv[2] if len(sys.argv) > 2 else "0,30,46").split(",")]:
    base = tf.keras.applications.MobileNetV2((SIDE, SIDE, 3), include_top=False, weights=None, pooling="avg")
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
