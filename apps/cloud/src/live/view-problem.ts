/** Why a sent image cannot be kept. */
import { imageHeader } from '@platform/dataset-files/image-header';
import { liveLimits } from './rules/live-views.ts';

/** @returns the value and its limit; undefined: it is kept. */
export function viewProblem(jpeg: Uint8Array): { value: string; limit: string } | undefined {
  const { imageBytes, side } = liveLimits;
  if (jpeg.length > imageBytes) return { value: `${jpeg.length} bytes`, limit: `at most ${imageBytes} bytes` };
  const found = imageHeader(jpeg, true);
  if (!('header' in found) || found.header.type !== 'jpg') {
    const value = 'problem' in found ? `a file that ${found.problem}` : 'an image of another type';
    return { value, limit: 'a JPEG image' };
  }
  const { width, height } = found.header;
  if (Math.max(width, height) > side) return { value: `${width} × ${height} pixels`, limit: `at most ${side} a side` };
  return undefined;
}
