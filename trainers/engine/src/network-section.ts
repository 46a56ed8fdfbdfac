/** Section of a model card about the networks that a job compared. */
import type { NetworkChoice } from '@platform/contract/job/evaluation';
import { table } from './markdown.ts';

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

export function networkSection(networks: NetworkChoice | undefined): string[] {
  if (!networks) return [];
  const { candidates, chosen, gain, reason } = networks;
  const rows = candidates.map((one) => [
    one.recipe === chosen ? `${one.recipe} (delivered)` : one.recipe,
    one.name,
    one.stage,
    percent(one.validation_score),
    (one.size_bytes / 1e6).toFixed(1),
    one.latency_ms,
    one.seconds,
  ]);
  const difference = gain
    ? [` Difference: ${percent(gain.mean)} ± ${percent(gain.standard_error)} (paired standard error).`]
    : [];
  return [
    '',
    '## Networks',
    ...table(
      ['recipe', 'network', 'stage', 'validation images', 'ONNX file, MB', 'one image, ms', 'training, s'],
      rows,
    ),
    '',
    `${reason}${difference.join('')}`,
  ];
}
