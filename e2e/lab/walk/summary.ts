// What a random walk has shown, in words. Pure.
import type { StepResult } from './run.ts';
import { describeStep, describeWorld, type Expectation } from './world.ts';

export interface Summary {
  /** For the page of measurements. */
  note: string;
  missed: string[];
  unproved: string[];
}

export function summaryOf(results: readonly StepResult[]): Summary {
  const texts = (outcome: StepResult['outcome']): string[] =>
    results.filter((result) => result.outcome === outcome).map(textOf);
  const [missed, unproved] = [texts('missed'), texts('unproved')];
  const kinds = Object.entries(Object.groupBy(results, ({ step }) => step.do)).map(
    ([kind, steps]) => `${kind} ${steps.length}`,
  );
  const count = `${results.length} steps (${kinds.toSorted().join(', ')})`;
  const outcome = missed.length === 0 ? 'each promise kept' : `missed: ${missed.join('; ')}`;
  const lab = unproved.length === 0 ? [] : [`${unproved.length} unproved because the lab failed`];
  return { note: [count, outcome, ...lab, ...longest(results)].join('; '), missed, unproved };
}

const textOf = ({ number, step, world, expectation, limitSeconds }: StepResult): string =>
  `step ${number}, ${describeStep(step)}: not ${expectation} within ${limitSeconds} s (${describeWorld(world)})`;

function longest(results: readonly StepResult[]): string[] {
  const met = results.filter(({ outcome }) => outcome === 'met');
  const expectations: Expectation[] = ['online', 'connected', 'hotspot', 'either'];
  return expectations.flatMap((expectation) => {
    const seconds = met.filter((result) => result.expectation === expectation).map((result) => result.seconds);
    if (seconds.length === 0) return [];
    return [`${expectation}: ${seconds.length}, at most ${Math.round(Math.max(...seconds))} s`];
  });
}
