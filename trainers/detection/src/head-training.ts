/** Steps of the head: gradient descent on stored features, and what it finds in them. */
import { Adam } from '@platform/trainer-engine/autodiff/adam';
import type { Tape } from '@platform/trainer-engine/autodiff/tape';
import { cellStride } from '@platform/trainer-engine/pretrained/centernet';
import type { Random } from '@platform/trainer-engine/random';
import type { Feeds, FloatFeed, Results, Session } from '@platform/trainer-engine/runtime';
import type { Judged } from './average-precision.ts';
import type { LabelledBox } from './boxes.ts';
import { boxesIn, mentioned } from './decode.ts';
import type { FeatureFile, StoredFeatures } from './feature-extractor.ts';
import type { HeadGraph, Weights } from './head.ts';
import { dimsOf, sightNames, sizeOf } from './feature-maps.ts';
import { drawTargets, emptyTargets } from './targets.ts';
import type { Grid } from './targets.ts';

/** One view: where its features are, and its boxes. */
export interface Lesson {
  slot: number;
  boxes: readonly LabelledBox[];
}

export const copyOf = (tape: Tape): Map<string, Float32Array> =>
  new Map([...tape.parameters].map(([name, { values }]) => [name, Float32Array.from(values)]));
function load(tape: Tape, weights: Weights): void {
  for (const [name, { values }] of tape.parameters) values.set(weights.get(name) ?? values);
}

/** The inputs of one run of a head graph. */
class Desk {
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
   * Rows without a lesson are those of the step before, and count for nothing.
   *
   * @param count - boxes of the step, where it has more lessons than these.
   */
  lay(lessons: readonly Lesson[], file: FeatureFile, tape: Tape, count?: number): Feeds {
    const { batch, side, labels } = this.#grid;
    for (const [row, { slot }] of lessons.entries()) file.read(slot, row, this.#features);
    drawTargets(
      lessons.map(({ boxes }) => boxes),
      this.#grid,
      this.#targets,
    );
    const h = side / cellStride;
    const { heatmap, distances, mask, inverseCount } = this.#targets;
    if (count !== undefined) inverseCount[0] = 1 / Math.max(1, count);
    return {
      ...Object.fromEntries(
        [...tape.parameters].map(([name, { values, shape }]) => [name, { data: values, dims: shape }]),
      ),
      ...Object.fromEntries(
        sightNames.map((sight) => [sight, { data: this.#features[sight], dims: dimsOf(sight, batch, side) }]),
      ),
      heatmap: { data: heatmap, dims: [batch, labels, h, h] },
      distances: { data: distances, dims: [batch, 4, h, h] },
      mask: { data: mask, dims: [batch, 1, h, h] },
      inverse_count: { data: inverseCount, dims: [1] },
    };
  }
}

/** Each step does without a share of the inner channels, others in each picture, so that no answer hangs on one of them. */
export interface Dropping {
  hidden: number;
  share: number;
  random: Random;
}
/** Trains the parameters of a learning graph. */
export class Learner {
  readonly #session: Session;
  readonly #graph: HeadGraph;
  readonly #desk: Desk;
  readonly #adam: Adam;
  /** Gradients and the loss go into memory that is kept. */
  readonly #results: Readonly<Record<string, FloatFeed>>;
  /** Of the runs of one step. */
  readonly #sums: ReadonlyMap<string, Float32Array>;
  readonly #rows: number;
  readonly #dropping: Dropping;
  constructor(session: Session, graph: HeadGraph, grid: Grid, { decay, ...dropping }: Dropping & { decay: number }) {
    this.#adam = new Adam({ decay });
    this.#session = session;
    this.#graph = graph;
    this.#desk = new Desk(grid);
    this.#rows = grid.batch;
    this.#dropping = dropping;
    this.#results = Object.fromEntries([
      ['loss', { data: new Float32Array(1), dims: [1] }],
      ...[...graph.tape.parameters].map(([name, { values, shape }]) => [
        `d_${name}`,
        { data: new Float32Array(values.length), dims: shape },
      ]),
    ]);
    this.#sums = new Map(
      [...graph.tape.parameters].map(([name, { values }]) => [name, new Float32Array(values.length)]),
    );
  }
  /** One step, in as many runs as the lessons need. @returns the loss before it. */
  async step(lessons: readonly Lesson[], file: FeatureFile, learningRate: number): Promise<number> {
    const { tape } = this.#graph;
    const count = lessons.reduce((sum, { boxes }) => sum + boxes.length, 0);
    for (const sum of this.#sums.values()) sum.fill(0);
    let loss = 0;
    for (let from = 0; from < lessons.length; from += this.#rows) {
      const part = lessons.slice(from, from + this.#rows);
      const feeds = { ...this.#desk.lay(part, file, tape, count), kept: this.#kept() };
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
  #kept(): FloatFeed {
    const { hidden, share, random } = this.#dropping;
    const kept = Float32Array.from({ length: this.#rows * hidden }, () => (random() < share ? 0 : 1 / (1 - share)));
    return { data: kept, dims: [this.#rows, hidden, 1, 1] };
  }
}

/** Says what a head with given weights finds. */
export class Judge {
  readonly #session: Session;
  readonly #graph: HeadGraph;
  readonly #desk: Desk;
  readonly #grid: Grid;
  readonly #results: Readonly<Record<string, FloatFeed>>;
  constructor(session: Session, graph: HeadGraph, grid: Grid) {
    this.#session = session;
    this.#graph = graph;
    this.#desk = new Desk(grid);
    this.#grid = { ...grid, batch: 1 };
    const h = grid.side / cellStride;
    this.#results = {
      loss: { data: new Float32Array(1), dims: [1] },
      scores: { data: new Float32Array(grid.labels * h * h), dims: [1, grid.labels, h, h] },
      edges: { data: new Float32Array(4 * h * h), dims: [1, 4, h, h] },
    };
  }
  async #run(lesson: Lesson, file: FeatureFile): Promise<Results> {
    return this.#session.run(this.#desk.lay([lesson], file, this.#graph.tape), this.#results);
  }
  async judge(
    weights: Weights,
    lessons: readonly Lesson[],
    file: FeatureFile,
    signal: AbortSignal,
  ): Promise<{ loss: number; judged: Judged[] }> {
    load(this.#graph.tape, weights);
    const judged: Judged[] = [];
    let loss = 0;
    for (const lesson of lessons) {
      signal.throwIfAborted();
      const results = await this.#run(lesson, file);
      loss += results('loss')[0] ?? Number.NaN;
      const found = mentioned(boxesIn(results('scores'), results('edges'), this.#grid));
      judged.push({ truth: lesson.boxes, found });
    }
    return { loss: loss / Math.max(1, lessons.length), judged };
  }
}
