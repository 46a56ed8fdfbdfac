/** Writes and reads job folders as a runner does: for tests and benchmarks. */
import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { jobFiles, parseJobEvent, imagePath } from '@platform/contract/job/job';
import type { BoxAnnotation, DatasetLine, JobEvent, JobFile, Split } from '@platform/contract/job/job';

export interface TestImage {
  name: string;
  split: Split;
  bytes: Uint8Array;
  labels?: readonly string[];
  boxes?: readonly BoxAnnotation[];
  /** NAME of the tag `group:NAME`. */
  group?: string | undefined;
}

/**
 * Writes job.json, dataset.jsonl and the images.
 *
 * @param job - what is not given here is made up.
 * @param change - of the lines, once all images are there.
 */
export async function writeJobFolder(
  folder: string,
  job: Pick<JobFile, 'kind' | 'model_name' | 'arguments' | 'seed' | 'limits'> & Partial<JobFile>,
  images: Iterable<TestImage> | AsyncIterable<TestImage>,
  change: (lines: DatasetLine[]) => readonly DatasetLine[] = (lines) => lines,
): Promise<void> {
  await mkdir(path.join(folder, jobFiles.images), { recursive: true });
  const lines: DatasetLine[] = [];
  for await (const { name, split, bytes, labels = [], boxes = [], group } of images) {
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const line = { sha256, file_name: name, size_bytes: bytes.byteLength, split };
    const image_path = imagePath(line);
    await writeFile(path.join(folder, image_path), bytes);
    lines.push({
      ...line,
      image_path,
      classification_annotations: labels.map((annotation_label) => ({ annotation_label })),
      bounding_box_annotations: [...boxes],
      timestamp: '2026-01-01 00:00:00 +0000 UTC',
      part_id: '',
      component_name: '',
      ...(group === undefined ? {} : { group }),
    });
  }
  const text = change(lines).map((line) => `${JSON.stringify(line)}\n`);
  await writeFile(path.join(folder, jobFiles.dataset), text.join(''));
  const whole: JobFile = {
    id: 'job-1',
    attempt: 1,
    org_id: 'org-1',
    model_version: 'v1',
    labels: [],
    deadline: '2100-01-01T00:00:00Z',
    command: [],
    ...job,
  };
  await writeFile(path.join(folder, jobFiles.job), JSON.stringify(whole));
}

/** As with `split:` tags: the trainer does not move near copies. */
export const withChosenSplits = (lines: readonly DatasetLine[]): DatasetLine[] =>
  lines.map((line) => ({ ...line, split_chosen: true }));

export async function readEvents(folder: string): Promise<JobEvent[]> {
  const text = await readFile(path.join(folder, jobFiles.events), 'utf8');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => parseJobEvent(JSON.parse(line)));
}
