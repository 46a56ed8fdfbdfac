/**
 * Writes a job folder with one of the sets:
 *   node compose.ts --set=kept-apart --folder=FOLDER [--train=12] [--test=20] [--seed=1] [--argument=key=value …]
 * Exit code 3: the set's sources cannot be had here.
 */
import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { jobFiles, picturePath } from '@platform/contract/job';
import type { DatasetLine, JobFile } from '@platform/contract/job';
import { testSets } from './sets.ts';
import type { Pictures, TestSet } from './sets.ts';

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

async function write(folder: string, { kind }: TestSet, pictures: Pictures): Promise<void> {
  await mkdir(path.join(folder, jobFiles.pictures), { recursive: true });
  const lines: DatasetLine[] = [];
  for await (const { name, split, labels, bytes } of pictures) {
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const line = { sha256, file_name: name, size_bytes: bytes.byteLength, split };
    const image_path = picturePath(line);
    await writeFile(path.join(folder, image_path), bytes);
    lines.push({
      ...line,
      image_path,
      classification_annotations: labels.map((annotation_label) => ({ annotation_label })),
      bounding_box_annotations: [],
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
    kind,
    model_name: flags.set,
    model_version: 'bench',
    labels: [],
    arguments: Object.fromEntries(flags.argument.map((one) => one.split('=', 2) as [string, string])),
    seed,
    limits: { wall_seconds: 3600, memory_mib: 4096, disk_mib: 4096 },
    deadline: '2100-01-01T00:00:00Z',
    command: [],
  };
  await writeFile(path.join(folder, jobFiles.job), JSON.stringify(job));
}

const set = testSets[flags.set];
if (!set || flags.folder === '') {
  console.error(`--folder=FOLDER --set=${Object.keys(testSets).join('|')}`);
  process.exitCode = 2;
} else {
  const order = { seed, train: Number(flags.train ?? set.train), test: Number(flags.test ?? set.test) };
  const pictures = await set.pictures(order);
  if (pictures) await write(flags.folder, set, pictures);
  else process.exitCode = absent;
}
