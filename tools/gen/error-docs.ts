import { connectCode, errorSubjects } from '@platform/contract/errors/errors';
import type { ErrorRow } from '@platform/contract/errors/errors';

/** A line of a table. */
export const cells = (texts: readonly string[]): string =>
  `| ${texts.map((text) => text.replaceAll('|', '\\|')).join(' | ')} |`;

const line = ([code, row]: readonly [string, ErrorRow]): string =>
  cells([`\`${code}\``, `${row.rpc} (${connectCode[row.rpc]})`, row.retry, `\`${row.message}\``, row.remedy]);

/** docs/generated/errors.md. */
export function errorDocs(): string {
  return [
    '# Errors',
    '',
    'Generated from `packages/contract/src/errors/rows/` by `npm run gen`.',
    '',
    'Every failure that a user can see. RPCs carry the code as `reason` of `google.rpc.ErrorInfo` (domain `platform`) in the status details,',
    'with the sentence and the remedy in its metadata; the message begins with the code. Plain HTTP routes answer JSON with `code`, `message`, `remedy`.',
    'Retry: `never` (the same call fails again), `later` (with back-off), `now` (once, at once).',
    '',
    ...errorSubjects.flatMap(({ title, rows }) => [
      `## ${title}`,
      '',
      '| Code | Status | Retry | What happened | What to do |',
      '|---|---|---|---|---|',
      ...Object.entries(rows).map(line),
      '',
    ]),
  ].join('\n');
}
