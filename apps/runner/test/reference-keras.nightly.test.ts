// The Keras example with a small untrained backbone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runReference } from './reference-script.ts';

const python = process.env['PLATFORM_TEST_KERAS_PYTHON'] ?? '';
const makeWeights = `
import sys
import keras
keras.utils.set_random_seed(1)
image = keras.Input((32, 32, 3))
x = keras.layers.Rescaling(1 / 127.5, -1)(image)
for width in (8, 16): x = keras.layers.Conv2D(width, 3, 2, activation="relu")(x)
keras.Model(image, keras.layers.GlobalAveragePooling2D()(x)).save(sys.argv[1] + "/tiny.keras")
`;

test('the Keras example trains from the weights of the operator, resumes, and reports like a built-in trainer', async () => {
  assert.ok(python, 'PLATFORM_TEST_KERAS_PYTHON names a Python with the packages of tools/keras');
  await runReference({
    example: 'keras-training-script',
    python,
    environment: 'tf:2',
    makeWeights,
    weightsFile: 'tiny.keras',
    modelFile: 'model.tflite',
    flags: { probe_epochs: '20', epochs: '20', learning_rate: '0.01' },
    memoryMib: 3072,
  });
});
