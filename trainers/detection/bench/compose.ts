/**
 * Writes a job folder with one of the detection sets:
 *   node compose.ts --set=detect-6|detect-5|own-6 --folder=FOLDER [--train=60] [--test=60] [--seed=1] [--argument=key=value …]
 * Exit code 3: the set's sources cannot be had here.
 */
import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { jobFiles, picturePath } from '@platform/contract/job';
import type { DatasetLine, JobFile } from '@platform/contract/job';
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
  await mkdir(path.join(folder, jobFiles.pictures), { recursive: true });
  const lines: DatasetLine[] = [];
  const counts = { train: Number(flags.train), test: Number(flags.test) };
  for await (const { name, split, jpeg, boxes } of composeDetection(material, counts, seed)) {
    const sha256 = createHash('sha256').update(jpeg).digest('hex');
    const line = { sha256, file_name: name, size_bytes: jpeg.byteLength, split };
    const image_path = picturePath(line);
    await writeFile(path.join(folder, image_path), jpeg);
    lines.push({
      ...line,
      image_path,
      classification_annotations: [],
      bounding_box_annotations: boxes,
      timestamp: '2026-01-01 00:00:00 +0000 UTC',
      part_id: '',
      component_name: '',
    });
  }
  await writeFile(path.join(folder, jobFiles.dataset), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const job: JobFile = {
    id: 'bench',
    attempt: 1,
    org_id: 'bench',
    kind: 'object_detection',
    model_name: 'detector',
    model_version: 'bench',
    labels: [],
    arguments: Object.fromEntries(
      flags.argument.map((one) => [one.slice(0, one.indexOf('=')), one.slice(one.indexOf('=') + 1)]),
    ),
    seed,
    limits: { wall_seconds: 3600, memory_mib: 4096, disk_mib: 8192 },
    deadline: '2100-01-01T00:00:00Z',
    command: [],
  };
  await writeFile(path.join(folder, jobFiles.job), JSON.stringify(job));
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
