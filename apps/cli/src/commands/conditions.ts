import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  type Condition,
  ConditionSeverity,
  ConditionState,
  ConditionSubject,
} from '@platform/contract/gen/platform/conditions/v1/conditions_pb';
import { PlatformError } from '@platform/contract/errors/errors';
import { systemClock } from '@platform/kit/node';
import type { Command } from 'commander';
import { choiceOption, choicesOption } from '../choices.ts';
import type { Connection } from '../connection.ts';
import { findMachine } from '../find/machine.ts';
import type { Run } from '../run.ts';
import { seconds, wholeNumber } from '../values.ts';
import { conditionJson, conditionRow, conditionsNote } from '../views/conditions.ts';

const severities = { error: ConditionSeverity.ERROR, warning: ConditionSeverity.WARNING, note: ConditionSeverity.NOTE };
const subjects = {
  machine: ConditionSubject.MACHINE,
  job: ConditionSubject.JOB,
  runner: ConditionSubject.RUNNER,
  server: ConditionSubject.SERVER,
};
const states = { open: ConditionState.OPEN, muted: ConditionState.MUTED, ended: ConditionState.ENDED };

interface Flags {
  readonly state?: ConditionState;
  readonly severity?: ConditionSeverity[];
  readonly subject?: ConditionSubject[];
  readonly machine?: string;
  readonly text?: string;
  readonly lines: string;
}

export function conditionCommands(program: Command, run: Run): void {
  const conditions = program
    .command('conditions')
    .description('list, mute and unmute conditions: what needs attention');
  conditions
    .command('list', { isDefault: true })
    .description('list conditions with cause and remedy, most severe first')
    .addOption(choiceOption('--state <state>', 'only conditions in this state', states))
    .addOption(choicesOption('--severity <severity>', 'only conditions of this severity (repeatable)', severities))
    .addOption(choicesOption('--subject <subject>', 'only conditions of this kind of subject (repeatable)', subjects))
    .option('--machine <machine>', 'only conditions of this machine')
    .option('--text <text>', 'only conditions whose name, code or message contains this text')
    .option('-n, --lines <n>', 'maximum number of conditions', '200')
    .action(
      run(async ({ connection, output }, flags: Flags) => {
        const pageSize = wholeNumber('--lines', flags.lines, { min: 1, max: 1_000 });
        const open = await connection();
        const machine = flags.machine === undefined ? undefined : await findMachine(open, flags.machine);
        const answer = await open.client.conditionClient.listConditions({
          organizationId: machine?.organizationId ?? (await open.organizationId()),
          state: flags.state ?? ConditionState.OPEN,
          severities: flags.severity ?? [],
          subjects: flags.subject ?? [],
          machineId: machine?.id ?? '',
          containing: flags.text ?? '',
          pageSize,
        });
        output.json(answer.conditions.map(conditionJson));
        const note = conditionsNote(answer, systemClock.wall());
        if (answer.conditions.length > 0)
          output.table(
            ['id', 'severity', 'subject', 'what', 'for', 'what to do'],
            answer.conditions.map((one) => conditionRow(one, systemClock.wall())),
          );
        output.text(note);
      }),
    );
  muteCommands(conditions, run);
}

function muteCommands(conditions: Command, run: Run): void {
  conditions
    .command('mute')
    .argument('<id>', 'ID of the condition, or its first characters')
    .description('mute a condition for a time, even if it ends and begins again')
    .requiredOption('--reason <text>', 'reason, shown with the condition')
    .option('--for <time>', 'duration, such as 8h or 7d; at most 90d', '1d')
    .option('--all', 'mute all conditions of this kind in the organization, including later ones')
    .action(
      run(async ({ connection, output }, id: string, flags: { reason: string; for: string; all?: boolean }) => {
        const until = timestampFromMs(systemClock.wall() + seconds('--for', flags.for) * 1_000);
        const open = await connection();
        const condition = await conditionOf(open, id, ConditionState.OPEN);
        const { mute } = await open.client.conditionClient.muteCondition({
          id: condition.id,
          reason: flags.reason,
          until,
          ofAll: flags.all === true,
        });
        output.json(conditionJson({ ...condition, ...(mute && { mute }) }));
        output.text(`Muted: ${condition.code}${condition.subjectName === '' ? '' : ` of ${condition.subjectName}`}.`);
      }),
    );
  conditions
    .command('unmute')
    .argument('<id>', 'ID of the condition, or its first characters')
    .description('unmute a condition')
    .action(
      run(async ({ connection, output }, id: string) => {
        const open = await connection();
        const found = await conditionOf(open, id, ConditionState.MUTED);
        await open.client.conditionClient.unmuteCondition({ id: found.mute?.id ?? '' });
        const { mute: _mute, ...rest } = found;
        output.json(conditionJson(rest));
        output.text(`Not muted any more: ${found.code}${found.subjectName === '' ? '' : ` of ${found.subjectName}`}.`);
      }),
    );
}

/** Fewer characters begin too many IDs. */
const leastCharacters = 4;

/** The only condition of this state whose ID begins so. @throws PlatformError CONDITION_NOT_FOUND */
async function conditionOf(open: Connection, id: string, state: ConditionState): Promise<Condition> {
  const organizationId = await open.organizationId();
  const start = id.trim().toLowerCase();
  // One that moves between two pages is in both.
  const conditionsById = new Map<string, Condition>();
  for (let pageToken = ''; ;) {
    const page = await open.client.conditionClient.listConditions({
      organizationId,
      state,
      pageSize: 1_000,
      pageToken,
    });
    for (const one of page.conditions) if (one.id.startsWith(start)) conditionsById.set(one.id, one);
    pageToken = page.nextPageToken;
    if (pageToken === '') break;
  }
  const [first, second] = conditionsById.values();
  if (!first || second || start.length < leastCharacters)
    throw new PlatformError('CONDITION_NOT_FOUND', { conditionId: id });
  return first;
}
