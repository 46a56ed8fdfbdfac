/** Gradient descent on augmented views; validation selects the weights to keep. */
import { Adam } from '@platform/trainer-engine/autodiff/adam';
import { gradientBuffers, parameterFeeds } from '@platform/trainer-engine/autodiff/feeds';
import type { Tape } from '@platform/trainer-engine/autodiff/tape';
import type { Random } from '@platform/trainer-engine/random';
import { shuffled } from '@platform/trainer-engine/random';
import type { Session } from '@platform/trainer-engine/runtime';
import { weightColumns } from './network.ts';
import type { OutputKind, Weights } from './head.ts';
import type { Validation } from './objective.ts';
import type { Recipe } from './recipe.ts';

/** Training target of one image. */
export interface TrainingTarget {
  target: readonly number[];
  weights: readonly number[];
}
export interface FineTuneTask {
  recipe: Recipe;
  session: Session;
  tape: Tape;
  classes: number;
  output: OutputKind;
  /** Number of training images. */
  images: number;
  /** Draws an augmented view of training image `i`. @returns its training target. */
  draw(i: number, into: Float32Array, offset: number): TrainingTarget;
  /** Evaluates these parameter values on the validation images. */
  validate(weights: Weights): Promise<Validation>;
  /** Saves these values as the best so far; replaces the previous ones. */
  saveBest(weights: Weights): void;
  random: Random;
  signal: AbortSignal;
  onStep(share: number): void;
  onEpoch(epoch: number, loss: number, validation: Validation): void;
}
export interface FineTuneResult {
  validation: Validation;
  epoch: number;
}

/** The arrays themselves, not copies: training steps change them. */
export const parameterValues = (tape: Tape): Weights =>
  new Map([...tape.parameters].map(([name, { values }]) => [name, values]));

/** Warm-up, then cosine decay to zero. */
function learningRate({ learningRate: peak, warmUpSteps }: Recipe, step: number, steps: number): number {
  return peak * Math.min(1, (step + 1) / warmUpSteps) * 0.5 * (1 + Math.cos((Math.PI * step) / steps));
}

/** Steps between two updates of the average: the weights change little per step. */
const stride = 4;

/** Exponential moving average of the weights: it reduces the noise of single steps. */
class WeightAverage {
  readonly #values: Weights;
  readonly #decay: number;
  #steps = 0;
  constructor(tape: Tape, decay: number) {
    this.#values = new Map([...parameterValues(tape)].map(([name, values]) => [name, values.slice()]));
    this.#decay = decay;
  }
  update(tape: Tape): void {
    this.#steps++;
    if (this.#steps % stride !== 0) return;
    // Use a smaller decay in the first steps, so that the average forgets its start value.
    const share = 1 - Math.min(this.#decay, this.#steps / (this.#steps + 10)) ** stride;
    for (const [name, { values }] of tape.parameters) {
      const mean = this.#values.get(name);
      if (!mean) continue;
      for (let i = 0; i < mean.length; i++) mean[i] = (mean[i] ?? 0) + share * ((values[i] ?? 0) - (mean[i] ?? 0));
    }
  }
  get values(): Weights {
    return this.#values;
  }
}

/**
 * Trains the parameters of the tape. It keeps the last epoch whose validation loss is within one standard error of the
 * lowest. With few images, chance would otherwise choose among the epochs, and later epochs with their small steps are
 * usually better.
 */
export async function fineTune(task: FineTuneTask): Promise<FineTuneResult | undefined> {
  const { recipe, session, tape, classes, images, random, signal } = task;
  const { batch, side, epochs } = recipe;
  const stepsPerEpoch = Math.ceil(images / batch);
  const steps = stepsPerEpoch * epochs;
  const adam = new Adam();
  const average = recipe.averaging > 0 ? new WeightAverage(tape, recipe.averaging) : undefined;
  const columns = weightColumns(task.output, classes);
  const image = new Float32Array(batch * side * side * 3);
  const targets = new Float32Array(batch * classes);
  const weights = new Float32Array(batch * columns);
  const feeds = {
    ...parameterFeeds(tape),
    image: { data: image, dims: [batch, side, side, 3] },
    targets: { data: targets, dims: [batch, classes] },
    weights: { data: weights, dims: [batch, columns] },
  };
  const gradients = { loss: { data: new Float32Array(1), dims: [] }, ...gradientBuffers(tape) };
  let found: FineTuneResult | undefined;
  let best: Validation | undefined;
  for (let epoch = 1; epoch <= epochs; epoch++) {
    const order = shuffled([...Array(images).keys()], random);
    let lossSum = 0;
    for (let step = 0; step < stepsPerEpoch; step++) {
      signal.throwIfAborted();
      for (let row = 0; row < batch; row++) {
        // Fill the last batch of an epoch with images from its start.
        const index = order[(step * batch + row) % order.length] ?? 0;
        const example = task.draw(index, image, row * side * side * 3);
        targets.set(example.target, row * classes);
        weights.set(example.weights, row * columns);
      }
      const results = await session.run(feeds, gradients);
      const at = (epoch - 1) * stepsPerEpoch + step;
      adam.step(tape.parameters, (name) => results(`d_${name}`), learningRate(recipe, at, steps));
      average?.update(tape);
      lossSum += results('loss')[0] ?? 0;
      task.onStep((at + 1) / steps);
    }
    const evaluated = average?.values ?? parameterValues(tape);
    const validation = await task.validate(evaluated);
    task.onEpoch(epoch, lossSum / stepsPerEpoch, validation);
    if (!best || validation.loss < best.loss) best = validation;
    if (validation.loss <= best.loss + best.lossError) {
      task.saveBest(evaluated);
      found = { validation, epoch };
    }
    if (found && epoch - found.epoch >= recipe.patience) break;
  }
  return found;
}
