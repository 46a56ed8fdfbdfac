import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seeded } from '@platform/trainer-engine/random';
import {
  atTemperature,
  calibrated,
  calibrationError,
  chooseTemperature,
  uncalibrated,
  withOffsets,
} from './calibration.ts';
import { chooseCalibration } from './choose-calibration.ts';
import type { OutputKind } from './head.ts';
import { argmax, softmax } from './score.ts';
import type { EvaluatedImage } from './score.ts';

/** Images whose labels follow their probabilities, then shown at another temperature. */
function drawn(output: OutputKind, count: number, temperature: number): EvaluatedImage[] {
  const random = seeded('calibration', output);
  return Array.from({ length: count }, () => {
    const raw = Float64Array.from({ length: 3 }, () => random());
    const sum = output === 'softmax' ? raw.reduce((a, b) => a + b ** 3, 0) : 1;
    const honest = raw.map((x) => (output === 'softmax' ? x ** 3 / sum : x));
    let left = random();
    const classes =
      output === 'sigmoid'
        ? [...honest.keys()].filter((k) => random() < (honest[k] ?? 0))
        : [...honest.keys()].filter((k) => {
            const before = left;
            left -= honest[k] ?? 0;
            return before >= 0 && left < 0;
          });
    return { classes, probabilities: atTemperature(honest, output, temperature) };
  });
}

for (const output of ['softmax', 'sigmoid'] as const) {
  test(`${output}: the temperature that was applied is found and undone`, () => {
    for (const applied of [0.5, 2]) {
      const shown = drawn(output, 3000, applied);
      const found = chooseTemperature(shown, output);
      assert.ok(Math.abs(Math.log(found * applied)) < 0.15, `${found} for ${applied}`);
      const repaired = shown.map((one) => ({
        ...one,
        probabilities: atTemperature(one.probabilities, output, found),
      }));
      const [before, after] = [calibrationError(shown, output), calibrationError(repaired, output)];
      assert.ok(after < 0.03 && before > 2 * after, `${before} to ${after}`);
    }
  });
}

const odds = [1, -0.5, -0.5];
const centred = (offsets: Float64Array): number[] => {
  const mean = offsets.reduce((a, b) => a + b, 0) / offsets.length;
  return [...offsets].map((one) => one - mean);
};
const accuracyOf = (images: readonly EvaluatedImage[]): number =>
  images.filter(({ classes, probabilities }) => argmax(probabilities) === classes[0]).length / images.length;

test('softmax: a balance that training has moved is moved back, whatever the temperature', () => {
  for (const applied of [0.5, 1, 2]) {
    const shown = drawn('softmax', 3000, 1).map(({ classes, probabilities }) => ({
      classes,
      probabilities: atTemperature(withOffsets(probabilities, Float64Array.from(odds)), 'softmax', applied),
    }));
    const { temperature, offsets = new Float64Array() } = chooseCalibration(shown);
    for (const [k, offset] of centred(offsets).entries()) {
      assert.ok(Math.abs(offset * applied + (odds[k] ?? 9)) < 0.15, `${k}: ${offset} at ${applied}`);
    }
    assert.ok(Math.abs(Math.log(temperature * applied)) < 0.15, `${temperature} for ${applied}`);
    const repaired = calibrated(shown, 'softmax', { temperature, offsets });
    const [undone] = uncalibrated(repaired, 'softmax', { temperature, offsets });
    for (const [k, p] of shown[0]?.probabilities.entries() ?? []) {
      assert.ok(Math.abs((undone?.probabilities[k] ?? 9) - p) < 1e-9, 'it can be undone');
    }
    const [before, after] = [calibrationError(shown, 'softmax'), calibrationError(repaired, 'softmax')];
    assert.ok(after < 0.03 && after < before, `${before} to ${after}`);
    const [hitsBefore, hits] = [accuracyOf(shown), accuracyOf(repaired)];
    assert.ok(hits > hitsBefore + 0.05, `${hitsBefore} to ${hits}`);
  }
});

test('few images, wrong or right, give no offsets', () => {
  const certain = (label: number): EvaluatedImage => ({
    classes: [label],
    probabilities: Float64Array.from({ length: 10 }, (_, k) => (k === label ? 0.91 : 0.01)),
  });
  const rightOnes = Array.from({ length: 10 }, (_, label) => certain(label));
  const wrong = { ...certain(1), classes: [0] };
  for (const images of [[], rightOnes.slice(0, 1), rightOnes, [...rightOnes.slice(1), wrong]]) {
    assert.equal(chooseCalibration(images).offsets, undefined, `${images.length} images`);
  }
});

test('where the balance is right, nothing is lost by more images', () => {
  const images = drawn('softmax', 300, 1);
  const repaired = calibrated(images, 'softmax', chooseCalibration(images));
  assert.ok(accuracyOf(repaired) > accuracyOf(images) - 0.01, `${accuracyOf(repaired)}`);
});

test('a label that no validation image has keeps finite offsets', () => {
  const images = Array.from({ length: 500 }, () => ({ classes: [0], probabilities: Float64Array.of(0.4, 0.3, 0.3) }));
  const { offsets = [] } = chooseCalibration(images);
  assert.equal(offsets.length, 3);
  for (const offset of offsets) assert.ok(Number.isFinite(offset) && Math.abs(offset) < 5, `${offset}`);
});

test('probabilities near 0 and 1 give what the logits would', () => {
  for (const temperature of [0.25, 2, 4]) {
    const logits = Float32Array.of(20, -25, 3);
    const wanted = softmax(logits.map((z) => z / temperature));
    for (const [k, p] of atTemperature(softmax(logits), 'softmax', temperature).entries()) {
      assert.ok(Math.abs(p - (wanted[k] ?? 9)) < 1e-6, `softmax, ${k}, ${temperature}`);
    }
    for (const z of [-60, -20, 0, 20, 30]) {
      const [p = 9] = atTemperature(Float64Array.of(1 / (1 + Math.exp(-z))), 'sigmoid', temperature);
      assert.ok(Math.abs(p - 1 / (1 + Math.exp(-z / temperature))) < 1e-6, `sigmoid, ${z}, ${temperature}`);
    }
  }
});

test('ten images that are all right do not prove certainty; no images change nothing', () => {
  const right = Array.from({ length: 10 }, () => ({ classes: [0], probabilities: Float64Array.of(0.9, 0.1) }));
  const found = chooseTemperature(right, 'softmax');
  assert.ok(found > 0.5 && found < 1, `${found}`);
  assert.equal(chooseTemperature([], 'sigmoid'), 1);
});

test('the calibration error is the distance from the share of right answers', () => {
  const images = [
    { classes: [0], probabilities: Float64Array.of(0.8, 0.2) },
    { classes: [1], probabilities: Float64Array.of(0.8, 0.2) },
  ];
  assert.ok(Math.abs(calibrationError(images, 'softmax') - 0.3) < 1e-9);
  assert.equal(calibrationError([], 'softmax'), 0);
  const certain = [{ classes: [0], probabilities: Float64Array.of(1, 0) }];
  assert.equal(calibrationError(certain, 'sigmoid'), 0);
});
