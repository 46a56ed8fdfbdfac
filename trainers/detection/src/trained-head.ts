/** Runs the trained head on the features of the frozen networks, without quantization. */
import { cellStride } from '@platform/trainer-engine/pretrained/centernet';
import type { Feeds, Session } from '@platform/trainer-engine/runtime';
import type { Detection } from './average-precision.ts';
import { decodePeaks } from './decode.ts';
import { headGraph } from './head.ts';
import type { HeadGraph, HeadShape, Weights } from './head.ts';
import { dimsOf, featureNames } from './feature-maps.ts';
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
    const results = await this.#session.run(this.#feeds(features));
    return { heat: results('scores'), edges: results('edges') };
  }
  #feeds(features: Features): Feeds {
    const { side, labels } = this.#shape;
    const h = side / cellStride;
    const { heatmap, distances, mask, inverseCount } = emptyTargets({ ...this.#shape, batch: 1 });
    return {
      ...Object.fromEntries(
        [...this.#graph.tape.parameters].map(([name, { values, shape }]) => [name, { data: values, dims: shape }]),
      ),
      ...Object.fromEntries(featureNames.map((name) => [name, { data: features[name], dims: dimsOf(name, 1, side) }])),
      heatmap: { data: heatmap, dims: [1, labels, h, h] },
      distances: { data: distances, dims: [1, 4, h, h] },
      mask: { data: mask, dims: [1, 1, h, h] },
      inverse_count: { data: inverseCount, dims: [1] },
    };
  }
  release(): Promise<void> {
    return this.#session.release();
  }
}
