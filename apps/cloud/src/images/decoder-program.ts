/**
 * A process that decodes images for the server, one after the other: what an image does to its decoder happens to this
 * process. It reads JPEG, PNG and WebP files by their content, nothing else.
 */
import { writeFileSync } from 'node:fs';
import sharp from 'sharp';
import { mostImagePixels, stretchOf, usedBitsOf } from '@platform/contract/job/image-limits';
import type { DecodeAnswer, DecodeRequest } from './decode-messages.ts';
import type { DecodedImage } from './rules/image-content.ts';

sharp.cache(false);
sharp.concurrency(1);
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({ operation: ['VipsForeignLoadJpegFile', 'VipsForeignLoadPngFile', 'VipsForeignLoadWebpFile'] });

/** Opens a file; broken and truncated images fail while they are decoded. */
const open = (path: string) =>
  sharp(path, { failOn: 'error', limitInputPixels: mostImagePixels, sequentialRead: true, animated: false });

/** The largest value of the colours of an image of 16 bits per channel; reads it to its end. */
async function largestOf(path: string): Promise<number | undefined> {
  const { depth, hasAlpha } = await open(path).metadata();
  if (depth !== 'ushort') return undefined;
  const { channels } = await open(path).stats();
  const colours = hasAlpha ? channels.slice(0, -1) : channels;
  return Math.max(...colours.map(({ max }) => max));
}

async function measure(path: string): Promise<DecodedImage> {
  const { format, width, height, orientation = 1 } = await open(path).metadata();
  const largest = await largestOf(path);
  // A small copy, so that all of the file is decoded without its pixels in memory.
  if (largest === undefined) await open(path).resize(16, 16, { fit: 'fill' }).raw().toBuffer();
  return { format, width, height, orientation, ...(largest !== undefined && { largest }) };
}

/** The first whose file is small enough is taken. Noise needs the last. */
const qualities = [75, 60, 45, 30, 15, 5, 1];

async function thumbnail(path: string, edge: number, mostBytes: number): Promise<Uint8Array> {
  const largest = await largestOf(path);
  const upright = open(path).rotate();
  const stretched = largest === undefined ? upright : upright.linear(stretchOf(usedBitsOf(largest)), 0);
  const { data, info } = await stretched
    .toColourspace('srgb')
    .resize(edge, edge, { fit: 'inside', withoutEnlargement: true })
    .raw()
    .toBuffer({ resolveWithObject: true });
  const { width, height, channels } = info;
  for (const quality of qualities) {
    const bytes = await sharp(data, { raw: { width, height, channels } }).webp({ quality }).toBuffer();
    if (bytes.length <= mostBytes || quality === qualities.at(-1)) return bytes;
  }
  throw new Error('there is no quality');
}

async function answerOf(request: DecodeRequest): Promise<DecodeAnswer> {
  const { id } = request;
  try {
    if (request.is === 'measure') return { id, is: 'measured', image: await measure(request.path) };
    return { id, is: 'thumbnail', bytes: await thumbnail(request.path, request.edge, request.mostBytes) };
  } catch (error) {
    return { id, is: 'failed', message: error instanceof Error ? error.message : String(error) };
  }
}

/** When memory runs out, Linux ends this process before the server. */
function offerToEnd(): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', '1000');
  } catch {
    // Another system, or not allowed.
  }
}

offerToEnd();
process.on('disconnect', () => process.exit());
process.on('message', (request: DecodeRequest) => void answerOf(request).then((answer) => process.send?.(answer)));
