/**
 * Writes a job folder with one of the detection sets:
 *   node compose.ts --set=detect-6|detect-5|own-6 --folder=FOLDER [--train=60] [--test=60] [--seed=1] [--argument=key=value …]
 * Exit code 3: the set's sources cannot be had here.
 */
import { parseArgs } from 'node:util';
import { writeJobFolder } from '../../engine/test/job-folder.ts';
import { composeDetection, fiveKinds, sixOfOurs, sixStamps } from './sets.ts';
import type { Material } from './sets.ts';

const absent = 3;
const { values: flags } = parseArgs({
  options: {
    set: { type: 'string', default: 'own-6' },
    folder: { type: 'string', default: '' },
    train: { type: 'string', default: '60' },
    test: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
    argument: { type: 'string', multiple: true, default: [] },
  },
});
const seed = Number(flags.seed);
const sets: Readonly<Record<string, () => Promise<Material | undefined> | Material>> = {
  'detect-6': sixStamps,
  'detect-5': () => fiveKinds(seed),
  'own-6': sixOfOurs,
};

async function write(folder: string, material: Material): Promise<void> {
  const counts = { train: Number(flags.train), test: Number(flags.test) };
  const job = {
    kind: 'object_detection' as const,
    model_name: 'detector',
    arguments: Object.fromEntries(
      flags.argument.map((one) => [one.slice(0, one.indexOf('=')), one.slice(one.indexOf('=') + 1)]),
    ),
    seed,
    limits: { wall_seconds: 3600, memory_mib: 4096, disk_mib: 8192 },
  };
  await writeJobFolder(folder, job, composeDetection(material, counts, seed));
}

const material = await sets[flags.set]?.();
if (material === undefined) {
  console.error(
    `The set ${flags.set} is not to be had here; sets: ${Object.keys(sets).join(', ')}. Debian's packages are needed.`,
  );
  process.exitCode = absent;
} else {
  await write(flags.folder, material);
}
