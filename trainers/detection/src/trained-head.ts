/** Runs the trained head on the features of the frozen networks, without quantization. */
import type { Session } from '@platform/trainer-engine/runtime';
import type { Detection } from './average-precision.ts';
import { decodePeaks } from './decode.ts';
import { headGraph } from './head.ts';
import type { HeadGraph, HeadShape, Weights } from './head.ts';
import { headFeeds } from './head-training.ts';
import type { Features } from './feature-maps.ts';
import { emptyTargets } from './targets.ts';
import { shapeOf } from './training-run.ts';
import type { TrainingRun } from './training-run.ts';

export class TrainedHead {
  readonly #session: Session;
  readonly #graph: HeadGraph;
  readonly #shape: HeadShape;
  private constructor(session: Session, graph: HeadGraph, shape: HeadShape) {
    this.#session = session;
    this.#graph = graph;
    this.#shape = shape;
  }
  static async open(run: TrainingRun, weights: Weights): Promise<TrainedHead> {
    const { training, device, recipe, detector } = run;
    const shape = shapeOf(run);
    const options = { batch: 1, overlapWeight: recipe.overlapWeight, mode: 'evaluate' } as const;
    const graph = headGraph(detector, weights, shape, options);
    return new TrainedHead(await training.devices.open(graph.model, device.place), graph, shape);
  }
  /** Boxes at the peaks, the highest score first; covered ones included. */
  async peaks(features: Features): Promise<Detection[]> {
    const { heat, edges } = await this.maps(features);
    return decodePeaks(heat, edges, this.#shape);
  }
  /** heat [K, h, h] 0..1, and edges [4, h, h] in units of 16 px. */
  async maps(features: Features): Promise<{ heat: Float32Array; edges: Float32Array }> {
    const grid = { ...this.#shape, batch: 1 };
    const results = await this.#session.run(headFeeds(this.#graph.tape, features, emptyTargets(grid), grid));
    return { heat: results('scores'), edges: results('edges') };
  }
  release(): Promise<void> {
    return this.#session.release();
  }
}
