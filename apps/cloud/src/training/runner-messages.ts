import { PlatformError } from '@platform/contract/errors/errors';
import type { LeaseJobRequest, RunnerContainer } from '@platform/contract/gen/platform/runner/v1/runner_pb';
import { jobKinds } from '@platform/contract/job/job';
import type { ScriptContainer } from './rules/runner-capabilities.ts';
import type { RunnerCapabilities, SeenRunner } from './store/runners.ts';
import { msOf, timeOf } from '../rpc/protobuf-times.ts';

const most = { containers: 50, text: 200, because: 2_000 } as const;

/** Makes a runner's text fit for display: one line, truncated. */
const shown = (text: string, longest: number = most.text): string =>
  text
    .replaceAll(/\p{Cc}+/gu, ' ')
    .slice(0, longest)
    .toWellFormed();

/** Reads a runner's capabilities. @throws PlatformError INVALID_ARGUMENT */
export function capabilitiesOf(id: string, request: LeaseJobRequest): RunnerCapabilities {
  const kinds = request.kinds.filter((kind) => (jobKinds as readonly string[]).includes(kind));
  if (kinds.length === 0) {
    const limit = jobKinds.join(', ');
    throw new PlatformError('INVALID_ARGUMENT', { field: 'kinds', value: request.kinds.join(', '), limit });
  }
  if (request.containers.length > most.containers) {
    const value = `${request.containers.length} containers`;
    throw new PlatformError('INVALID_ARGUMENT', { field: 'containers', value, limit: `at most ${most.containers}` });
  }
  return {
    id,
    kinds: [...new Set(kinds)],
    gpus: request.gpus,
    containers: request.containers.map(containerOf),
    host: shown(request.host),
    version: shown(request.version),
    executor: shown(request.executor) || 'local',
    noScriptsBecause: shown(request.noScriptsBecause, most.because),
  };
}

const containerOf = ({ key, uri, framework, description, eol }: RunnerContainer): ScriptContainer => ({
  key: shown(key),
  uri: shown(uri),
  framework: shown(framework),
  description: shown(description),
  eolMs: eol ? msOf(eol) : null,
});

export const containerMessage = ({ eolMs, ...container }: ScriptContainer) => ({
  ...container,
  ...(eolMs === null ? {} : { eol: timeOf(eolMs) }),
});

/** A runner is online if it requested work or reported within this time. */
const onlineMs = 60_000;

export const runnerMessage = (runner: SeenRunner, now: number) => ({
  runnerId: runner.id,
  host: runner.host,
  version: runner.version,
  executor: runner.executor,
  kinds: [...runner.kinds],
  gpus: runner.gpus,
  containers: runner.containers.map(containerMessage),
  noScriptsBecause: runner.noScriptsBecause,
  lastSeen: timeOf(runner.lastSeen),
  online: Math.abs(now - runner.lastSeen) < onlineMs,
  jobId: runner.jobId ?? '',
});
