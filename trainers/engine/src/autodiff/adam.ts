import type { Parameter } from './tape.ts';

interface Moments {
  first: Float32Array;
  second: Float32Array;
}
const decay1 = 0.9;
const decay2 = 0.999;

/** Adam; changes the values of the parameters in place. Two million values take about 10 ms. */
export class Adam {
  readonly #moments = new Map<string, Moments>();
  #steps = 0;

  step(
    parameters: ReadonlyMap<string, Parameter>,
    gradientOf: (name: string) => Float32Array,
    learningRate: number,
  ): void {
    this.#steps++;
    const correct1 = 1 / (1 - decay1 ** this.#steps);
    const correct2 = 1 / (1 - decay2 ** this.#steps);
    for (const [name, { values }] of parameters) {
      const gradient = gradientOf(name);
      const moments = this.#moments.get(name) ?? {
        first: new Float32Array(values.length),
        second: new Float32Array(values.length),
      };
      this.#moments.set(name, moments);
      const { first, second } = moments;
      for (let i = 0; i < values.length; i++) {
        const d = gradient[i] ?? 0;
        const m = decay1 * (first[i] ?? 0) + (1 - decay1) * d;
        const v = decay2 * (second[i] ?? 0) + (1 - decay2) * d * d;
        first[i] = m;
        second[i] = v;
        values[i] = (values[i] ?? 0) - (learningRate * m * correct1) / (Math.sqrt(v * correct2) + 1e-8);
      }
    }
  }
}
