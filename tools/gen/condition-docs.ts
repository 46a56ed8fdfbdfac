import { conditionSubjects, type ConditionRow } from '@platform/contract/conditions/conditions';
import { cells } from './error-docs.ts';

const line = ([code, { severity, message, cause, remedy, ends }]: readonly [string, ConditionRow]): string =>
  cells([
    `\`${code}\``,
    typeof severity === 'string' ? severity : severity.join(' or '),
    `\`${message}\``,
    cause,
    remedy.replace(/^\{remedy\}\.$/, 'The condition says it.'),
    ends,
  ]);

/** docs/generated/conditions.md. */
export function conditionDocs(): string {
  return [
    '# Conditions',
    '',
    'Generated from `packages/contract/src/conditions/rows/` by `npm run gen`.',
    '',
    'A condition is what needs attention on a machine, a job, a runner or the server, until its cause is gone. [Conditions and logs of a machine](../agent-conditions.md) and [what needs attention](../conditions.md) say where they are shown.',
    'An error: something fails. A warning: it works, but not as intended. A note: for information.',
    '',
    ...conditionSubjects.flatMap(({ title, rows }) => [
      `## ${title}`,
      '',
      '| Code | Severity | What happened | Why | What to do | Until when |',
      '|---|---|---|---|---|---|',
      ...Object.entries(rows).map(line),
      '',
    ]),
  ].join('\n');
}
