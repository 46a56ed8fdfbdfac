/** Trains the head by gradient descent on stored features, and evaluates it. */
import { Adam } from '@platform/trainer-engine/autodiff/adam';
import { gradientBuffers, parameterFeeds } from '@platform/trainer-engine/autodiff/feeds';
import type { Tape } from '@platform/trainer-engine/autodiff/tape';
import type { Trial } from '@platform/trainer-engine/device';
import { cellStride } from '@platform/trainer-engine/pretrained/centernet';
import type { Random } from '@platform/trainer-engine/random';
import type { Feed, Feeds, FloatFeed, Results, Session } from '@platform/trainer-engine/runtime';
import type { EvaluatedImage } from './average-precision.ts';
import type { LabelledBox } from './boxes.ts';
import { decodeBoxes, aboveMinScore } from './decode.ts';
import type { FeatureCache, StoredFeatures } from './feature-extractor.ts';
import { headGraph, initialWeights } from './head.ts';
import type { HeadGraph, HeadShape, Weights } from './head.ts';
import { rowsPerRun } from './recipe.ts';
import type { Recipe } from './recipe.ts';
import { dimsOf, featureNames, sizeOf } from './feature-maps.ts';
import type { Detector, FeatureName } from './feature-maps.ts';
import { drawTargets, emptyTargets } from './targets.ts';
import type { Grid, Targets } from './targets.ts';

/** One view: its slot in the feature cache, and its boxes. */
export interface CachedExample {
  slot: number;
  boxes: readonly LabelledBox[];
}

export const copyParameters = (tape: Tape): Map<string, Float32Array> =>
  new Map([...tape.parameters].map(([name, { values }]) => [name, Float32Array.from(values)]));
function loadParameters(tape: Tape, weights: Weights): void {
  for (const [name, { values }] of tape.parameters) values.set(weights.get(name) ?? values);
}

/** Inputs of a head graph, but the dropout mask of mode `train`. */
export function headFeeds(
  tape: Tape,
  features: Readonly<Record<FeatureName, Feed['data']>>,
  { heatmap, distances, mask, inverseCount }: Targets,
  { batch, side, labels }: Grid,
): Feeds {
  const h = side / cellStride;
  return {
    ...parameterFeeds(tape),
    ...Object.fromEntries(
      featureNames.map((name) => [name, { data: features[name], dims: dimsOf(name, batch, side) }]),
    ),
    heatmap: { data: heatmap, dims: [batch, labels, h, h] },
    distances: { data: distances, dims: [batch, 4, h, h] },
    mask: { data: mask, dims: [batch, 1, h, h] },
    inverse_count: { data: inverseCount, dims: [1] },
  };
}

/** Input buffers for one run of a head graph. */
class HeadFeeds {
  readonly #grid: Grid;
  readonly #features: StoredFeatures;
  readonly #targets;
  constructor(grid: Grid) {
    this.#grid = grid;
    const { batch, side } = grid;
    this.#features = {
      neck: new Uint8Array(batch * sizeOf('neck', side)),
      deep: new Float32Array(batch * sizeOf('deep', side)),
      kinds: new Float32Array(batch * sizeOf('kinds', side)),
      parts: new Float32Array(batch * sizeOf('parts', side)),
    };
    this.#targets = emptyTargets(grid);
  }
  /**
   * Rows without an example keep the previous features; their mask is 0.
   *
   * @param count - boxes of the whole step, if it has more examples than these.
   */
  write(examples: readonly CachedExample[], file: FeatureCache, tape: Tape, count?: number): Feeds {
    for (const [row, { slot }] of examples.entries()) file.read(slot, row, this.#features);
    drawTargets(
      examples.map(({ boxes }) => boxes),
      this.#grid,
      this.#targets,
    );
    if (count !== undefined) this.#targets.inverseCount[0] = 1 / Math.max(1, count);
    return headFeeds(tape, this.#features, this.#targets, this.#grid);
  }
}

/** One step on empty images, to compare devices. */
export function trialStep(detector: Detector, shape: HeadShape, recipe: Recipe): Trial {
  const { overlapWeight } = recipe;
  const batch = rowsPerRun(recipe);
  const { side, hidden } = shape;
  const { model, tape } = headGraph(detector, initialWeights(shape, 0), shape, { batch, overlapWeight, mode: 'train' });
  const constant = (name: FeatureName): Float32Array => new Float32Array(batch * sizeOf(name, side)).fill(0.5);
  const features = {
    neck: constant('neck'),
    deep: constant('deep'),
    kinds: constant('kinds'),
    parts: constant('parts'),
  };
  const grid = { ...shape, batch };
  return {
    model,
    feeds: {
      ...headFeeds(tape, features, emptyTargets(grid), grid),
      dropout_mask: { data: new Float32Array(batch * hidden).fill(1), dims: [batch, hidden, 1, 1] },
    },
  };
}

/** Drops random inner channels per step and image, so that no output depends on a single channel. */
export interface Dropout {
  hidden: number;
  rate: number;
  random: Random;
}
/** Trains the parameters of a training graph. */
export class HeadTrainer {
  readonly #session: Session;
  readonly #graph: HeadGraph;
  readonly #feeds: HeadFeeds;
  readonly #adam: Adam;
  /** Reused buffers for gradients and loss. */
  readonly #results: Readonly<Record<string, FloatFeed>>;
  /** Accumulated gradients of the runs of one step. */
  readonly #sums: ReadonlyMap<string, Float32Array>;
  readonly #rows: number;
  readonly #dropout: Dropout;
  constructor(session: Session, graph: HeadGraph, grid: Grid, { decay, ...dropout }: Dropout & { decay: number }) {
    this.#adam = new Adam({ decay });
    this.#session = session;
    this.#graph = graph;
    this.#feeds = new HeadFeeds(grid);
    this.#rows = grid.batch;
    this.#dropout = dropout;
    this.#results = { loss: { data: new Float32Array(1), dims: [1] }, ...gradientBuffers(graph.tape) };
    this.#sums = new Map(
      [...graph.tape.parameters].map(([name, { values }]) => [name, new Float32Array(values.length)]),
    );
  }
  /** One step, with as many runs as the examples need. @returns the loss before the update. */
  async step(examples: readonly CachedExample[], file: FeatureCache, learningRate: number): Promise<number> {
    const { tape } = this.#graph;
    const count = examples.reduce((sum, { boxes }) => sum + boxes.length, 0);
    for (const sum of this.#sums.values()) sum.fill(0);
    let loss = 0;
    for (let from = 0; from < examples.length; from += this.#rows) {
      const part = examples.slice(from, from + this.#rows);
      const feeds = { ...this.#feeds.write(part, file, tape, count), dropout_mask: this.#dropoutMask() };
      const results = await this.#session.run(feeds, this.#results);
      loss += results('loss')[0] ?? Number.NaN;
      for (const [name, sum] of this.#sums) {
        const gradient = results(`d_${name}`);
        for (let i = 0; i < sum.length; i++) sum[i] = (sum[i] ?? 0) + (gradient[i] ?? 0);
      }
    }
    this.#adam.step(tape.parameters, (name) => this.#sums.get(name) ?? new Float32Array(), learningRate);
    return loss;
  }
  #dropoutMask(): FloatFeed {
    const { hidden, rate: share, random } = this.#dropout;
    const kept = Float32Array.from({ length: this.#rows * hidden }, () => (random() < share ? 0 : 1 / (1 - share)));
    return { data: kept, dims: [this.#rows, hidden, 1, 1] };
  }
}

/** Evaluates a head with given weights. */
export class HeadEvaluator {
  readonly #session: Session;
  readonly #graph: HeadGraph;
  readonly #feeds: HeadFeeds;
  readonly #grid: Grid;
  readonly #results: Readonly<Record<string, FloatFeed>>;
  constructor(session: Session, graph: HeadGraph, grid: Grid) {
    this.#session = session;
    this.#graph = graph;
    this.#feeds = new HeadFeeds(grid);
    this.#grid = { ...grid, batch: 1 };
    const h = grid.side / cellStride;
    this.#results = {
      loss: { data: new Float32Array(1), dims: [1] },
      scores: { data: new Float32Array(grid.labels * h * h), dims: [1, grid.labels, h, h] },
      edges: { data: new Float32Array(4 * h * h), dims: [1, 4, h, h] },
    };
  }
  async #run(example: CachedExample, file: FeatureCache): Promise<Results> {
    return this.#session.run(this.#feeds.write([example], file, this.#graph.tape), this.#results);
  }
  async evaluate(
    weights: Weights,
    examples: readonly CachedExample[],
    file: FeatureCache,
    signal: AbortSignal,
  ): Promise<{ loss: number; evaluated: EvaluatedImage[] }> {
    loadParameters(this.#graph.tape, weights);
    const evaluated: EvaluatedImage[] = [];
    let loss = 0;
    for (const example of examples) {
      signal.throwIfAborted();
      const results = await this.#run(example, file);
      loss += results('loss')[0] ?? Number.NaN;
      const found = aboveMinScore(decodeBoxes(results('scores'), results('edges'), this.#grid));
      evaluated.push({ truth: example.boxes, found });
    }
    return { loss: loss / Math.max(1, examples.length), evaluated };
  }
}
