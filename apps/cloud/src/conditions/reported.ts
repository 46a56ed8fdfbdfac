import { fromBinary } from '@bufbuild/protobuf';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { severityRank } from '@platform/contract/conditions/severity';
import { AgentReportSchema, type Condition, Severity } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { Clock } from '@platform/kit';
import type { Database } from '../database/database.ts';
import { repeatedLinesCondition, repeatedQuietMs } from '../machines/rules/repeated-lines.ts';
import { bothAgentsCondition, sharingCondition } from '../machines/rules/shared-identity.ts';
import { sharedIdentities } from '../machines/shared-identities.ts';
import type { SeverityNumber } from './rules/condition.ts';
import { keptOf, type ReportedCondition } from './rules/machine-conditions.ts';
import { type MachineState, readNoticedParts, readReports } from './store/measured-machines.ts';

const severityOf: Readonly<Partial<Record<Severity, SeverityNumber>>> = {
  [Severity.NOTE]: severityRank.note,
  [Severity.WARNING]: severityRank.warning,
  [Severity.ERROR]: severityRank.error,
};

/** PostgreSQL's texts cannot contain NUL. */
const clean = (text: string): string => text.replaceAll('\0', '').toWellFormed();

type Noticed = Pick<Condition, 'code' | 'severity' | 'message' | 'remedy'> & Partial<Pick<Condition, 'since' | 'path'>>;
const conditionOf = ({ code, severity, message, remedy, since, path = '' }: Noticed): ReportedCondition => ({
  code: clean(code),
  severity: severityOf[severity] ?? severityRank.warning,
  message: clean(message),
  remedy: clean(remedy),
  path: clean(path),
  since: since && timestampMs(since),
});

const reportsAtOnce = 200;

/** What machines report, by their main parts. Each report is decoded once, when it has changed. */
export function reportedConditions({ db, clock }: { db: Database; clock: Clock }) {
  const known = new Map<string, { reportedOn: number | null; conditions: readonly ReportedCondition[] }>();
  return {
    async read(machines: readonly MachineState[]): Promise<(partId: string) => readonly ReportedCondition[]> {
      const ids = new Set(machines.map(({ id }) => id));
      for (const id of known.keys()) if (!ids.has(id)) known.delete(id);
      const news = machines.filter(({ id, reportedOn }) => (known.get(id)?.reportedOn ?? null) !== reportedOn);
      for (let from = 0; from < news.length; from += reportsAtOnce) {
        const some = news.slice(from, from + reportsAtOnce).map(({ id }) => id);
        for (const { id, report, reportedOn } of await readReports(db, some))
          known.set(id, { reportedOn, conditions: report ? decoded(report) : [] });
      }
      const noticed = await noticedConditions({ db, clock }, machines);
      return (partId) => [...(noticed.get(partId) ?? []), ...(known.get(partId)?.conditions ?? [])];
    },
  };
}

const decoded = (report: Buffer): readonly ReportedCondition[] =>
  keptOf(fromBinary(AgentReportSchema, report).conditions.map(conditionOf));

/** What the server notices about machines: cloned credentials, repeated lines. */
async function noticedConditions(
  deps: { db: Database; clock: Clock },
  machines: readonly MachineState[],
): Promise<Map<string, ReportedCondition[]>> {
  const now = deps.clock.wall();
  const { repeated, returned } = await readNoticedParts(deps.db, new Date(now - repeatedQuietMs));
  const found = new Map<string, ReportedCondition[]>();
  const add = (partId: string, noticed: readonly Noticed[]): void =>
    void found.set(partId, [...(found.get(partId) ?? []), ...noticed.map(conditionOf)]);
  for (const part of repeated) add(part.id, repeatedLinesCondition(part, now));
  if (returned.length === 0) return found;
  const names = new Map(machines.map(({ id, name }) => [id, name]));
  for (const [partId, { computers, bothAgents }] of await sharedIdentities(deps, returned)) {
    if (computers) add(partId, [sharingCondition(computers, names.get(partId) ?? '')]);
    if (bothAgents) add(partId, [bothAgentsCondition(bothAgents)]);
  }
  return found;
}
