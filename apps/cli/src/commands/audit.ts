import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { AuditEntry } from '@platform/contract/gen/platform/audit/v1/audit_pb';
import { systemClock } from '@platform/kit/node';
import type { Command } from 'commander';
import { isoTime } from '../output.ts';
import type { Run } from '../run.ts';
import { collect, timeBefore, wholeNumber } from '../values.ts';

interface Flags {
  readonly since?: string;
  readonly until?: string;
  readonly action?: string[];
  readonly lines: string;
  readonly installation?: boolean;
}

const entryJson = (entry: AuditEntry): Record<string, unknown> => ({
  at: isoTime(entry.at),
  actor: entry.actor,
  action: entry.action,
  subject: entry.subject,
  details: entry.details ?? {},
  organization_id: entry.organizationId,
});

const detailsText = (entry: AuditEntry): string =>
  Object.entries(entry.details ?? {})
    .map(([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' ');

export function auditCommands(program: Command, run: Run): void {
  program
    .command('audit')
    .description('list changes and sign-ins, newest first; owners only')
    .option('--since <time>', 'only entries since this time: 24h, 7d, or a time such as 2026-03-01T12:00:00Z')
    .option('--until <time>', 'only entries before this time')
    .option('--action <action>', 'only this action, for example "delete machine" (repeatable)', collect)
    .option('-n, --lines <n>', 'maximum number of entries', '100')
    .option('--installation', 'list entries of the installation: releases, sign-ins with unknown keys')
    .action(
      run(async ({ connection, output }, flags: Flags) => {
        const limit = wholeNumber('--lines', flags.lines, { min: 1, max: 100_000 });
        const time = (field: string, text: string | undefined): Timestamp | undefined =>
          text === undefined ? undefined : timestampFromMs(timeBefore(field, text, systemClock.wall()));
        const [since, until] = [time('--since', flags.since), time('--until', flags.until)];
        const open = await connection();
        const request = {
          organizationId: flags.installation ? '' : await open.organizationId(),
          actions: flags.action ?? [],
          ...(since && { since }),
          ...(until && { until }),
        };
        const entries: AuditEntry[] = [];
        for (let pageToken = ''; entries.length < limit;) {
          const pageSize = Math.min(1000, limit - entries.length);
          const page = await open.client.auditClient.listAuditEntries({ ...request, pageSize, pageToken });
          entries.push(...page.entries);
          pageToken = page.nextPageToken;
          if (pageToken === '') break;
        }
        output.json(entries.map(entryJson));
        if (entries.length === 0) return output.text('No entry.');
        output.table(
          ['time', 'action', 'actor', 'subject', 'details'],
          entries.map((one) => [isoTime(one.at), one.action, one.actor, one.subject, detailsText(one)]),
        );
      }),
    );
}
