import { PlatformError } from '@platform/contract/errors/errors';
import type { Box } from './manifest.ts';
import { newName } from '../../rpc/rules/field-checks.ts';
import { invalidArgument } from '../../rpc/rules/invalid-argument.ts';

/** A box as clients send it. */
export interface SentBox {
  readonly label: string;
  readonly xMinNormalized: number;
  readonly yMinNormalized: number;
  readonly xMaxNormalized: number;
  readonly yMaxNormalized: number;
  readonly confidence?: number | undefined;
}

/** @throws PlatformError INVALID_ARGUMENT unless 0 ≤ min < max ≤ 1 in both directions. */
export function boxOf(sent: SentBox): Omit<Box, 'id'> {
  span('x', sent.xMinNormalized, sent.xMaxNormalized);
  span('y', sent.yMinNormalized, sent.yMaxNormalized);
  return {
    label: newName('label', sent.label),
    xMin: sent.xMinNormalized,
    yMin: sent.yMinNormalized,
    xMax: sent.xMaxNormalized,
    yMax: sent.yMaxNormalized,
    confidence: confidenceOf(sent.confidence),
  };
}

function span(axis: string, min: number, max: number): void {
  if (0 <= min && min < max && max <= 1) return;
  throw invalidArgument(`${axis}_min_normalized, ${axis}_max_normalized`, `${min}, ${max}`, '0 ≤ min < max ≤ 1');
}

/** @throws PlatformError INVALID_ARGUMENT */
export function confidenceOf(sent: number | undefined): number | null {
  if (sent === undefined) return null;
  if (sent >= 0 && sent <= 1) return sent;
  throw new PlatformError('INVALID_ARGUMENT', { field: 'confidence', value: sent, limit: '0 to 1' });
}
