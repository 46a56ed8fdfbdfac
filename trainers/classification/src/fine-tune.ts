/** Gradient descent on augmented views, best weights kept by validation. */
import { Adam } from '@platform/trainer-engine/autodiff/adam';
import type { Tape } from '@platform/trainer-engine/autodiff/tape';
import { parameterFeeds } from './looks.ts';
import type { Random } from '@platform/trainer-engine/random';
import { shuffled } from '@platform/trainer-engine/random';
import type { Recipe } from './recipe.ts';
import type { Session } from '@platform/trainer-engine/runtime';

export interface Validation {
  loss: number;
  accuracy: number;
}
/** Better: more accurate, or as accurate with a smaller loss. */
export const isBetter = (a: Validation, b: Validation): boolean =>
  a.accuracy > b.accuracy || (a.accuracy === b.accuracy && a.loss < b.loss);

export interface FineTuneTask {
  recipe: Recipe;
  session: Session;
  tape: Tape;
  classes: number;
  /** Class of each training picture. */
  labels: readonly number[];
  classWeights: readonly number[];
  /** Draws an augmented view of training picture `i`. */
  draw(i: number, into: Float32Array, offset: number): void;
  validate(): Promise<Validation>;
  random: Random;
  signal: AbortSignal;
  onStep(share: number): void;
  onEpoch(epoch: number, loss: number, validation: Validation): void;
}
export interface FineTuned {
  validation: Validation;
  epoch: number;
  weights: Map<string, Float32Array>;
}

const copyOf = (tape: Tape): Map<string, Float32Array> =>
  new Map([...tape.parameters].map(([name, { values }]) => [name, Float32Array.from(values)]));

/** Warm-up, then half a cosine down to zero. */
export function learningRate({ learningRate: peak, warmUpSteps }: Recipe, step: number, steps: number): number {
  return peak * Math.min(1, (step + 1) / warmUpSteps) * 0.5 * (1 + Math.cos((Math.PI * step) / steps));
}

/** Trains the parameters of the tape, which hold the last epoch's values afterwards. Returns the best epoch. */
export async function fineTune(task: FineTuneTask): Promise<FineTuned | undefined> {
  const { recipe, session, tape, classes, labels, random, signal } = task;
  const { batch, side, epochs, labelSmoothing } = recipe;
  const stepsPerEpoch = Math.ceil(labels.length / batch);
  const steps = stepsPerEpoch * epochs;
  const adam = new Adam();
  const image = new Float32Array(batch * side * side * 3);
  const targets = new Float32Array(batch * classes);
  const weights = new Float32Array(batch);
  let found: FineTuned | undefined;
  for (let epoch = 1; epoch <= epochs; epoch++) {
    const order = shuffled([...labels.keys()], random);
    let lossSum = 0;
    for (let step = 0; step < stepsPerEpoch; step++) {
      signal.throwIfAborted();
      targets.fill(labelSmoothing / classes);
      for (let row = 0; row < batch; row++) {
        // The last step of an epoch is filled up from its start.
        const picture = order[(step * batch + row) % order.length] ?? 0;
        const label = labels[picture] ?? 0;
        task.draw(picture, image, row * side * side * 3);
        targets[row * classes + label] = 1 - labelSmoothing + labelSmoothing / classes;
        weights[row] = task.classWeights[label] ?? 1;
      }
      const results = await session.run({
        ...parameterFeeds(tape.parameters),
        image: { data: image, dims: [batch, side, side, 3] },
        targets: { data: targets, dims: [batch, classes] },
        weights: { data: weights, dims: [batch, 1] },
      });
      const at = (epoch - 1) * stepsPerEpoch + step;
      adam.step(tape.parameters, (name) => results(`d_${name}`), learningRate(recipe, at, steps));
      lossSum += results('loss')[0] ?? 0;
      task.onStep((at + 1) / steps);
    }
    const validation = await task.validate();
    task.onEpoch(epoch, lossSum / stepsPerEpoch, validation);
    if (!found || isBetter(validation, found.validation)) found = { validation, epoch, weights: copyOf(tape) };
    if (epoch - found.epoch >= recipe.patience) break;
  }
  return found;
}
