// Runs kill points in a worker thread: in parallel, and without the test runner's bookkeeping for
// each promise.
import { parentPort as parent, workerData } from 'node:worker_threads';
import { play, type Point } from './kill-points.ts';

/** `problem` is undefined if the scenario ended as required. */
export interface Played {
  outcome: string;
  problem: string | undefined;
}

const tell = parent?.postMessage.bind(parent) ?? (() => undefined);
const points = workerData as readonly Point[];
for (const point of points) {
  const played = await play(point).then(
    (outcome): Played => ({ outcome: `${point.program}, ${wordOf(point)}: ${outcome}`, problem: undefined }),
    (error: unknown): Played => ({
      outcome: 'failed',
      problem: error instanceof Error ? error.message : String(error),
    }),
  );
  tell(played);
}

function wordOf({ fault }: Point): string {
  switch (fault.is) {
    case 'cut':
      return fault.how === 'lostHalf' ? 'power cut in a write' : 'power cut';
    case 'fail':
      return fault.code;
    case 'tear':
      return 'torn write';
    case 'web':
      return `network (${fault.fate})`;
  }
}
