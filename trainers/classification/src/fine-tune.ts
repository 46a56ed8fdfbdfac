/** Gradient descent on augmented views, best weights kept by validation. */
import { Adam } from '@platform/trainer-engine/autodiff/adam';
import type { Tape } from '@platform/trainer-engine/autodiff/tape';
import type { Random } from '@platform/trainer-engine/random';
import { shuffled } from '@platform/trainer-engine/random';
import type { FloatFeed, Session } from '@platform/trainer-engine/runtime';
import { parameterFeeds } from './inference.ts';
import { weightColumns } from './network.ts';
import type { OutputKind, Weights } from './network.ts';
import type { Validation } from './objective.ts';
import type { Recipe } from './recipe.ts';

/** What a index is to teach. */
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
  /** Draws an augmented view of training index `i`. @returns what it is to teach. */
  draw(i: number, into: Float32Array, offset: number): TrainingTarget;
  /** Judges these values of the parameters. */
  validate(weights: Weights): Promise<Validation>;
  /** Takes over these values, in place of those before: they are the best so far. */
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

/** The values themselves: steps change them. */
export const parameterValues = (tape: Tape): Weights =>
  new Map([...tape.parameters].map(([name, { values }]) => [name, values]));

/** Warm-up, then half a cosine down to zero. */
function learningRate({ learningRate: peak, warmUpSteps }: Recipe, step: number, steps: number): number {
  return peak * Math.min(1, (step + 1) / warmUpSteps) * 0.5 * (1 + Math.cos((Math.PI * step) / steps));
}

/** Steps between two looks at the weights: they differ little from one step to the next. */
const stride = 4;

/** The running mean of the weights: it lies nearer to the middle of where the steps wander. */
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
    // Young averages forget where they began.
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

/** Where the results of a step go, over and over. */
export function allocateGradients(tape: Tape): Record<string, FloatFeed> {
  const into: Record<string, FloatFeed> = { loss: { data: new Float32Array(1), dims: [] } };
  for (const [name, { values, shape }] of tape.parameters) {
    into[`d_${name}`] = { data: new Float32Array(values.length), dims: shape };
  }
  return into;
}

/**
 * Trains the parameters of the tape. What is kept in the end are the values of the last epoch whose validation loss is no
 * worse than the lowest one by more than that one's standard error: of few images chance alone would choose among the
 * epochs, and the later ones, with their small steps, are the better ones by nature.
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
    ...parameterFeeds(tape.parameters),
    image: { data: image, dims: [batch, side, side, 3] },
    targets: { data: targets, dims: [batch, classes] },
    weights: { data: weights, dims: [batch, columns] },
  };
  const gradients = allocateGradients(tape);
  let found: FineTuneResult | undefined;
  let best: Validation | undefined;
  for (let epoch = 1; epoch <= epochs; epoch++) {
    const order = shuffled([...Array(images).keys()], random);
    let lossSum = 0;
    for (let step = 0; step < stepsPerEpoch; step++) {
      signal.throwIfAborted();
      for (let row = 0; row < batch; row++) {
        // The last step of an epoch is filled up from its start.
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
