/**
 * Writes a job folder with one of the sets:
 *   node compose.ts --set=kept-apart --folder=FOLDER [--train=12] [--test=20] [--seed=1] [--argument=key=value …]
 * Exit code 3: the set's sources cannot be had here.
 */
import { parseArgs } from 'node:util';
import { withChosenSplits, writeJobFolder } from '../../engine/test/job-folder.ts';
import { testSets } from './sets.ts';
import type { Images, TestSet } from './sets.ts';

const absent = 3;
const { values: flags } = parseArgs({
  options: {
    set: { type: 'string', default: '' },
    folder: { type: 'string', default: '' },
    train: { type: 'string' },
    test: { type: 'string' },
    seed: { type: 'string', default: '1' },
    argument: { type: 'string', multiple: true, default: [] },
  },
});
const seed = Number(flags.seed);

async function write(folder: string, { kind }: TestSet, images: Images): Promise<void> {
  const job = {
    kind,
    model_name: flags.set,
    arguments: Object.fromEntries(flags.argument.map((one) => one.split('=', 2) as [string, string])),
    seed,
    limits: { wall_seconds: 3600, memory_mib: 4096, disk_mib: 4096 },
  };
  await writeJobFolder(folder, job, images, withChosenSplits);
}

const set = testSets[flags.set];
if (!set || flags.folder === '') {
  console.error(`--folder=FOLDER --set=${Object.keys(testSets).join('|')}`);
  process.exitCode = 2;
} else {
  const order = { seed, train: Number(flags.train ?? set.train), test: Number(flags.test ?? set.test) };
  const images = await set.images(order);
  if (images) await write(flags.folder, set, images);
  else process.exitCode = absent;
}
