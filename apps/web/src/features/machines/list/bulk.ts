// What a form of a change of many machines asks for, and how its operation stands.
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { BulkChangeSchema, BulkOperation } from '@platform/contract/gen/platform/bulk/v1/bulk_pb';
import { readTag } from '@platform/contract/machine/tags';
import { formatCount } from '../../../ui/quantities.ts';

export type BulkAction = 'restart' | 'tags' | 'pin' | 'move' | 'delete';

/** What is typed and chosen; the fields that an action does not have stay empty. */
export interface BulkForm {
  readonly add: string;
  readonly remove: string;
  readonly program: string;
  readonly version: string;
  readonly locationId: string;
}
export const emptyForm: BulkForm = { add: '', remove: '', program: 'server', version: '', locationId: '' };

export const bulkTitles: Readonly<Record<BulkAction, string>> = {
  restart: 'Restart machine servers',
  tags: 'Change tags',
  pin: 'Pin a version',
  move: 'Move to a location',
  delete: 'Delete machines',
};

const wordsOf = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean);

/** Why a text of tags is wrong; undefined: it is right. */
export function tagsProblem(text: string): string | undefined {
  for (const word of wordsOf(text)) {
    const read = readTag(word);
    if ('problem' in read) return `${word}: ${read.problem}.`;
  }
  return undefined;
}

/** @returns undefined: something is missing or wrong. */
export function bulkChange(action: BulkAction, form: BulkForm): MessageInitShape<typeof BulkChangeSchema> | undefined {
  const { add, remove, program, version, locationId } = form;
  switch (action) {
    case 'tags': {
      if (tagsProblem(add) ?? tagsProblem(remove)) return undefined;
      const value = { add: wordsOf(add), remove: wordsOf(remove) };
      return value.add.length + value.remove.length > 0 ? { change: { case: 'tags', value } } : undefined;
    }
    case 'pin':
      return version.trim() === ''
        ? undefined
        : { change: { case: 'pin', value: { program, version: version.trim() } } };
    case 'move':
      return locationId === '' ? undefined : { change: { case: 'move', value: { locationId } } };
    case 'restart':
    case 'delete':
      return { change: { case: action, value: {} } };
  }
}

/** "2 done, 1 failed, 40 wait". */
export function bulkText({ done, failed, waiting, unchanged, refused, stoppedOn }: BulkOperation): string {
  return [
    `${done} done`,
    failed > 0 ? `${failed} failed` : '',
    refused > 0 ? `${refused} left out` : '',
    unchanged > 0 ? `${unchanged} were so already` : '',
    waiting > 0 ? (stoppedOn ? `${formatCount(waiting, 'machine')} not tried` : `${waiting} wait`) : '',
  ]
    .filter(Boolean)
    .join(', ');
}
