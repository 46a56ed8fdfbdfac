import { fromBinary } from '@bufbuild/protobuf';
import type { ActingAgent } from '@platform/contract/config/effect';
import type { ServerFacts } from '@platform/contract/config/references';
import { type AgentReport, AgentReportSchema } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { platformServerKnowledge, type ServerKnowledge } from '@platform/contract/machine-server/resources';
import { ourAgentTag } from '../../releases/rules/update-info.ts';
import { desiredProgramsOf } from '../../releases/rules/desired-programs.ts';

type Host = { readonly [key: string]: unknown };

/** Facts that a machine reported about its programs and that its configuration is checked against. */
export interface MachineFacts {
  /** For example linux/arm64; undefined: not reported yet. */
  readonly platform: string | undefined;
  /** Undefined: an agent of another product, about which nothing is known. */
  readonly agent: ActingAgent | undefined;
  /** What its machine server can run; undefined: not reported. */
  readonly knowledge: ServerKnowledge | undefined;
  /** Version of the running machine server; empty: not reported. */
  readonly serverVersion: string;
}

export function machineFacts(part: { host: Host | null; report: Buffer | null } | undefined): MachineFacts {
  const report = reportOf(part);
  const platform = text(part?.host?.['platform']);
  const version = text(part?.host?.['agent_version']);
  const isOurs = !hasOtherAgent(part);
  return {
    platform,
    agent: isOurs
      ? {
          ...(platform !== undefined && { platform }),
          ...(version !== undefined && { version }),
          ...(report && report.actsOn.length > 0 && { actsOn: report.actsOn }),
        }
      : undefined,
    knowledge: report?.serverKnowledge && knowledgeOf(report.serverKnowledge),
    serverVersion: report?.server?.runningVersion ?? '',
  };
}

/** False before the first check: the agent to come is assumed to be ours. */
export function hasOtherAgent(part: { host: Host | null } | undefined): boolean {
  if (!part?.host) return false;
  const tags = part.host['tags'];
  return !(Array.isArray(tags) && tags.includes(ourAgentTag));
}

const knowledgeOf = ({
  models,
  packageTypes,
  schemasSha256,
}: NonNullable<AgentReport['serverKnowledge']>): ServerKnowledge => ({
  models: models.map(({ kind, type, model, references }) => ({
    kind: kind === 'component' ? 'component' : 'service',
    type,
    model,
    references: references.map(({ attribute, type: of }) => ({ attribute, type: of })),
  })),
  packageTypes,
  ...(schemasSha256 !== '' && { schemasSha256 }),
});

/** What is known about the machine server that will run a configuration. */
export function serverFacts(config: Host, { agent, knowledge, serverVersion }: MachineFacts): ServerFacts {
  const desired = desiredProgramsOf(config).find(({ program }) => program === 'platform-server')?.desired;
  const isOther = desired?.is === 'file' || (desired?.is === 'version' && desired.version !== serverVersion);
  if (knowledge) return { knowledge, isCertain: !isOther };
  // No knowledge was reported. A custom build, or one that reports nothing, may know any model.
  const isUnknown = desired?.is === 'file' || serverVersion !== '' || agent === undefined;
  return { knowledge: isUnknown ? undefined : platformServerKnowledge, isCertain: false };
}

export const reportOf = (part: { report: Buffer | null } | undefined): AgentReport | undefined =>
  part?.report ? fromBinary(AgentReportSchema, part.report) : undefined;

const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);
