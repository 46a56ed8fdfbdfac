import { connectCode, errorTable, type ErrorRow } from '@platform/contract/errors';

/** docs/generated/errors.md. */
export function errorDocs(): string {
  const rows = Object.entries<ErrorRow>(errorTable).map(
    ([code, row]) => `| ${[`\`${code}\``, `${row.rpc} (${connectCode[row.rpc]})`, row.retry, `\`${row.message}\``, row.remedy].map((text) => text.replaceAll('|', '\\|')).join(' | ')} |`,
  );
  return [
    '# Errors',
    '',
    'Generated from `packages/contract/src/error-rows-*.ts` by `npm run gen`.',
    '',
    'Every failure that a person or a program may see. RPCs carry the code as `reason` of `google.rpc.ErrorInfo` (domain `platform`) in the status details,',
    'with the sentence and the remedy in its metadata; the message begins with the code. Plain HTTP routes answer JSON with `code`, `message`, `remedy`.',
    'Retry: `never` (the same call fails again), `later` (with back-off), `now` (once, at once).',
    '',
    '| Code | Status | Retry | What happened | What to do |',
    '|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}
