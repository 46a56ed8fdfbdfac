import type { Runner } from '@platform/contract/gen/platform/runner/v1/runner_pb';
import { modelKind } from '@platform/contract/job/model-kinds';
import type { StatusLabel } from '../../ui/status-label.ts';
import { msOf } from '../../ui/times.ts';

export interface RunnerView {
  id: string;
  host: string;
  version: string;
  executor: string;
  state: StatusLabel;
  gpus: number;
  models: readonly string[];
  containers: readonly string[];
  noScriptsBecause: string;
  lastSeen: number | undefined;
  jobId: string;
}

const executorTexts: Readonly<Record<string, string>> = {
  local: 'this host',
  slurm: 'Slurm',
  kubernetes: 'Kubernetes',
};

export const runnerView = (one: Runner): RunnerView => ({
  id: one.runnerId,
  host: one.host || one.runnerId,
  version: one.version,
  executor: executorTexts[one.executor] ?? one.executor,
  state: one.online
    ? one.jobId
      ? { tone: 'busy', text: 'Busy' }
      : { tone: 'good', text: 'Free' }
    : { tone: 'quiet', text: 'Offline' },
  gpus: one.gpus,
  models: one.kinds.flatMap((kind) => modelKind(kind)?.shortTitle ?? []),
  containers: one.containers.map(({ key }) => key),
  noScriptsBecause: one.noScriptsBecause,
  lastSeen: msOf(one.lastSeen),
  jobId: one.jobId,
});

/** The command that joins a host. The key is in the environment, so that process lists do not show it. */
export const joinCommand = (url: string, keyId: string, key: string): string =>
  `PLATFORM_RUNNER_TOKEN=${keyId}:${key} npm run runner -- --url ${url}`;
