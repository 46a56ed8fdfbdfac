import { callUnaryMethod, useQuery, useTransport } from '@connectrpc/connect-query';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { useMemo } from 'react';
import { useDebounced } from '../../ui/time.tsx';
import { fromMachine, fromServer, fromText, isError, sortProblems } from './config-problems.ts';
import type { JsonSchema } from './schema/config-schema.ts';
import { syntaxProblem } from './schema/json-path.ts';
import { type Base, missingSecretProblems } from './draft/drafts.ts';
import type { ConditionView, MachineView } from '../../entities/machine/machine-status.ts';

const settleMs = 400;

interface ConfigChecksOptions {
  machine: MachineView;
  draft: string;
  base: Base;
  /** The revision whose secrets the placeholders stand for; undefined: the newest. */
  secretsOf: bigint | undefined;
  newest: bigint;
  schema: JsonSchema;
}

/** The problems of the draft: those that the server or the schema finds, and those that the machine reports. */
export function useConfigChecks({ machine, draft, base, secretsOf, newest, schema }: ConfigChecksOptions) {
  const of = { partId: machine.partId, secretsOfRevision: secretsOf ?? 0n };
  const { isReceived, isCurrent } = machine.config;
  // As text: the page is refreshed every second, and equal conditions must not redraw the marks.
  const conditions = JSON.stringify(machine.conditions);
  const transport = useTransport();
  const settled = useDebounced(draft, settleMs);
  const isJson = useMemo(() => syntaxProblem(settled) === undefined, [settled]);
  const check = useQuery(
    FleetService.method.checkConfig,
    { configJson: settled, ...of },
    { enabled: isJson, staleTime: 60_000, gcTime: 60_000, refetchOnWindowFocus: false },
  );
  // The server knows every rule; until it has answered for this text, the schema validates.
  const problems = useMemo(() => {
    const isChecked = check.data !== undefined && settled === draft;
    const ofText = isChecked ? fromServer(check.data.problems) : fromText(draft, schema);
    const found = [...missingSecretProblems(draft), ...ofText];
    // The report of an offline machine is of an earlier time, and may be of another configuration.
    const isReported = base.revision === newest && isReceived && isCurrent;
    const reported = isReported
      ? fromMachine(JSON.parse(conditions) as ConditionView[], { draft, saved: base.text, known: found })
      : [];
    return sortProblems([...found, ...reported]);
  }, [check.data, settled, draft, schema, base, newest, isReceived, isCurrent, conditions]);
  return {
    problems,
    error: check.error,
    isJson: fromText(draft, undefined).length === 0,
    /** Checks the draft as it is now, which the query above may not have seen yet. */
    hasErrors: async (): Promise<boolean> => {
      if ([...fromText(draft, undefined), ...missingSecretProblems(draft)].some(isError)) return true;
      const answer = await callUnaryMethod(transport, FleetService.method.checkConfig, { configJson: draft, ...of });
      return fromServer(answer.problems).some(isError);
    },
  };
}
