/** Creates a job folder with images of objects-10. */
import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { DatasetLine, JobFile } from '@platform/contract/job/job';
import { jobFiles, imagePath } from '@platform/contract/job/job';
import { composeObjects10 } from '@platform/objects-10';

export interface Objects10Job {
  seed: number;
  /** Images of each object. */
  train: number;
  test: number;
  /** key=value */
  arguments: readonly string[];
}

export async function writeObjects10(folder: string, { seed, train, test, ...rest }: Objects10Job): Promise<void> {
  await mkdir(path.join(folder, jobFiles.images), { recursive: true });
  const lines: DatasetLine[] = [];
  const options = { seed, trainPerClass: train, testPerClass: test };
  for await (const { name, label, split, jpeg } of composeObjects10(options)) {
    const sha256 = createHash('sha256').update(jpeg).digest('hex');
    const line = { sha256, file_name: name, size_bytes: jpeg.byteLength, split };
    const image_path = imagePath(line);
    await writeFile(path.join(folder, image_path), jpeg);
    lines.push({
      ...line,
      image_path,
      classification_annotations: [{ annotation_label: label }],
      bounding_box_annotations: [],
      timestamp: '2026-01-01 00:00:00 +0000 UTC',
      part_id: '',
      component_name: '',
      split_chosen: true,
    });
  }
  await writeFile(path.join(folder, jobFiles.dataset), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const job: JobFile = {
    id: 'bench',
    attempt: 1,
    org_id: 'bench',
    kind: 'single_label_classification',
    model_name: 'objects',
    model_version: 'bench',
    labels: [],
    arguments: Object.fromEntries(rest.arguments.map((one) => one.split('=', 2) as [string, string])),
    seed,
    limits: { wall_seconds: 3600, memory_mib: 4096, disk_mib: 4096 },
    deadline: '2100-01-01T00:00:00Z',
    command: [],
  };
  await writeFile(path.join(folder, jobFiles.job), JSON.stringify(job));
}
