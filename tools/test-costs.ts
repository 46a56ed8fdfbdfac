// node tools/setup.mjs tools/test-costs.ts FILE …: runs test files one after another and prints for each one the seconds
// of processor time of all its processes, and of the clock; the dearest come last. Linux. Processor time says what a file
// costs on a busy machine, too; a database that a test leaves to itself is not in it.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { plainEnvironment } from '../packages/kit/src/node/environment.ts';

/** The kernel counts in hundredths of a second. */
const ticksPerS = 100;

/** Seconds that children of this process, which have ended, and theirs have run. */
function secondsOfChildren(): number {
  const stat = readFileSync('/proc/self/stat', 'utf8');
  // The second field is a name, which may contain spaces; cutime and cstime are the fields 16 and 17.
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(13, 15)
    .map(Number);
  return ((user ?? 0) + (system ?? 0)) / ticksPerS;
}

interface Cost {
  readonly file: string;
  readonly processor: number;
  readonly wall: number;
  readonly passed: boolean;
}

function costOf(file: string): Cost {
  const before = { processor: secondsOfChildren(), at: process.hrtime.bigint() };
  const { status } = spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', '--test', file], {
    env: plainEnvironment(),
    stdio: 'ignore',
  });
  const wall = Number(process.hrtime.bigint() - before.at) / 1e9;
  return { file, processor: secondsOfChildren() - before.processor, wall, passed: status === 0 };
}

const costs = process.argv.slice(2).map(costOf);
for (const { file, processor, wall, passed } of costs.toSorted((a, b) => a.processor - b.processor))
  process.stdout.write(
    `${processor.toFixed(1).padStart(7)} ${wall.toFixed(1).padStart(7)} ${file}${passed ? '' : ', which failed'}\n`,
  );
const sum = (of: (cost: Cost) => number): string =>
  costs
    .reduce((all, cost) => all + of(cost), 0)
    .toFixed(1)
    .padStart(7);
process.stdout.write(`${sum(({ processor }) => processor)} ${sum(({ wall }) => wall)} all ${costs.length} files\n`);
