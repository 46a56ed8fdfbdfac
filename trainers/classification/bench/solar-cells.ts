// elpv: 2,624 photographs of solar cells, functional or defective, out of the Python package elpv-dataset (CC BY-NC-SA 4.0,
// so for measurements alone). Fetched with pip where it is there, kept in .cache.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { inflateRawSync } from 'node:zlib';
import { seeded, shuffled } from '@platform/trainer-engine/random';
import type { Random } from '@platform/trainer-engine/random';
import type { LabelledImage, Order } from './sets.ts';

const cache = fileURLToPath(new URL('../../../.cache/pypi', import.meta.url));
const release = 'elpv-dataset==1.0.0.post1';

function wheel(): string | undefined {
  mkdirSync(cache, { recursive: true });
  const fetched = (): string | undefined => readdirSync(cache).find((file) => file.startsWith('elpv_dataset-'));
  try {
    const options = ['-m', 'pip', 'download', '--quiet', '--no-deps', '--dest', cache, release];
    if (fetched() === undefined) execFileSync('python3', options, { stdio: 'ignore' });
  } catch {
    return undefined;
  }
  const file = fetched();
  return file === undefined ? undefined : path.join(cache, file);
}

/** Files of a zip archive, by their central directory. */
function* unzip(zip: Buffer): Generator<[string, () => Buffer]> {
  const end = zip.lastIndexOf(Buffer.from([0x50, 0x4b, 5, 6]));
  let at = zip.readUInt32LE(end + 16);
  for (let left = zip.readUInt16LE(end + 10); left > 0; left--) {
    const [method, size] = [zip.readUInt16LE(at + 10), zip.readUInt32LE(at + 20)];
    const [name, extra, comment] = [28, 30, 32].map((offset) => zip.readUInt16LE(at + offset));
    const local = zip.readUInt32LE(at + 42);
    const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
    const body = zip.subarray(start, start + size);
    yield [zip.toString('utf8', at + 46, at + 46 + (name ?? 0)), () => (method === 0 ? body : inflateRawSync(body))];
    at += 46 + (name ?? 0) + (extra ?? 0) + (comment ?? 0);
  }
}

function divided(found: readonly Omit<LabelledImage, 'split'>[], random: () => Random): LabelledImage[] {
  const images: LabelledImage[] = [];
  for (const members of Map.groupBy(found, ({ labels }) => labels[0]).values()) {
    const order = shuffled(members, random());
    const trainCount = Math.round(order.length * 0.75);
    for (const [i, one] of order.entries()) images.push({ ...one, split: i < trainCount ? 'train' : 'test' });
  }
  return images;
}

/** Certainly functional or certainly defective cells alone, or all with a half as the border; three quarters to learn from. */
export function solarCells({ seed, train }: Order): LabelledImage[] | undefined {
  const file = wheel();
  if (file === undefined) return undefined;
  const files = new Map(unzip(readFileSync(file)));
  const table = files.get('elpv_dataset/data/labels.csv')?.().toString() ?? '';
  const found: Omit<LabelledImage, 'split'>[] = [];
  for (const line of table.split('\n')) {
    const [name = '', probability = ''] = line.trim().split(/\s+/);
    const bytes = files.get(`elpv_dataset/data/${name}`);
    if (!bytes) continue;
    const label = Number(probability) > 0.5 ? 'defective' : 'functional';
    found.push({ name: path.basename(name), labels: [label], bytes: bytes() });
  }
  const images = divided(found, () => seeded('elpv', seed));
  return train > 0 ? shuffled(images, seeded('elpv part', seed)).slice(0, train) : images;
}

/** The training images of seed 1 alone, divided by the same shares: for choices that must not see the test images. */
export function solarCellsForDevelopment({ seed }: Order): LabelledImage[] | undefined {
  const images = solarCells({ seed: 1, train: 0, test: 0 })?.filter(({ split }) => split === 'train');
  return images && divided(images, () => seeded('elpv development', seed));
}
