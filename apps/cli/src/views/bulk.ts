import type {
  BulkOperation,
  BulkReason,
  PreviewBulkOperationResponse,
} from '@platform/contract/gen/platform/bulk/v1/bulk_pb';
import { isoTime, printable } from '../output.ts';

const reasonJson = ({ code, text, machines, examples }: BulkReason) => ({ code, text, machines, examples });

export const previewJson = ({ targets, changing, unchanged, refused, ...reasons }: PreviewBulkOperationResponse) => ({
  targets,
  changing,
  unchanged,
  refused,
  refusals: reasons.refusals.map(reasonJson),
  notes: reasons.notes.map(reasonJson),
});

/** "331 change, 38 are already so, 43 cannot:" with the reasons. */
export function previewText({ changing, unchanged, refused, refusals, notes }: PreviewBulkOperationResponse): string {
  const counts = [
    `${changing} of ${changing + unchanged + refused} machines change`,
    unchanged > 0 ? `${unchanged} need no change` : '',
    refused > 0 ? `${refused} cannot` : '',
  ];
  const lines = [...refusals, ...notes].map(
    ({ machines, text, examples }) =>
      `  ${machines}: ${printable(text)} (${examples.map(printable).join(', ')}${machines > examples.length ? ', …' : ''})`,
  );
  return [`${counts.filter(Boolean).join(', ')}.`, ...lines].join('\n');
}

export const bulkJson = (operation: BulkOperation) => ({
  id: operation.id,
  number: operation.number,
  change: operation.change?.change.case ?? '',
  query: operation.query,
  started_by: operation.startedBy,
  started_on: isoTime(operation.startedOn),
  stopped_on: isoTime(operation.stoppedOn),
  waiting: operation.waiting,
  done: operation.done,
  unchanged: operation.unchanged,
  refused: operation.refused,
  failed: operation.failed,
});

/** Its counts, and the commands that show the machines and go on. */
export function bulkLine({ number, done, waiting, refused, failed, unchanged, stoppedOn }: BulkOperation): string {
  const counts = [
    `${done} done`,
    unchanged > 0 ? `${unchanged} unchanged` : '',
    refused + failed > 0 ? `${refused + failed} left out` : '',
    waiting > 0 ? `${waiting} ${stoppedOn ? 'not tried' : 'wait'}` : '',
  ];
  const go = waiting > 0 && !stoppedOn ? ` Go on: platform machine bulk continue ${number}.` : '';
  return `Operation ${number}: ${counts.filter(Boolean).join(', ')}. See them: platform machine list operation:${number}.${go}`;
}

export const bulkRow = (one: BulkOperation): string[] => [
  String(one.number),
  one.change?.change.case ?? '',
  String(one.done),
  one.stoppedOn ? 'stopped' : String(one.waiting),
  String(one.refused + one.failed),
  one.startedBy,
  one.id,
];
