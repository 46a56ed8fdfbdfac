/** Options of a runner that submits its jobs to an engine. */
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseServerUrl } from '@platform/contract/provisioning/server-url';
import { Usage, type OptionTable, type OptionValues } from '@platform/kit/node';
import type { ScriptOptions } from './script/script-options.ts';

export const engineTable = {
  executor: {
    type: 'string',
    choices: ['local', 'slurm', 'kubernetes'],
    default: 'local',
    description: 'Where jobs run: on this host, or on an engine with its own queue.',
  },
  engineJobs: {
    type: 'number',
    default: 4,
    min: 1,
    max: 1000,
    description: 'Engine: maximum number of submitted jobs.',
  },
  enginePollSeconds: {
    type: 'number',
    default: 30,
    min: 1,
    max: 60,
    description: 'Engine: maximum seconds between two status checks of a job.',
  },
  engineGpus: {
    type: 'number',
    default: 0,
    min: 0,
    max: 1024,
    description: 'Engine: maximum number of GPUs of a job.',
  },
  engineCpus: { type: 'number', default: 2, min: 1, max: 1024, description: 'Engine: CPUs of each job.' },
  pendingMinutes: {
    type: 'number',
    default: 0,
    min: 0,
    description: 'Engine: minutes after which a queued job fails. 0: no limit.',
  },
  attemptUrl: { type: 'string', description: 'Engine: URL of the management server on its nodes (default: --url).' },
  attemptFolder: {
    type: 'string',
    description: 'Engine: folder on its nodes for jobs and the image cache (default: a temporary one per job).',
  },
  attemptCommand: {
    type: 'string',
    description: 'Slurm: shell command that starts this program on a node (default: this program at the same path).',
  },
  slurmUrl: {
    type: 'string',
    default: 'http://127.0.0.1:6820',
    description: 'URL of slurmrestd; unix:/path for a socket.',
  },
  slurmUser: { type: 'string', default: 'root', description: 'Slurm user that the jobs run as.' },
  slurmTokenFile: {
    type: 'string',
    description: 'File with a JWT for that user, read for each call (default: runs `scontrol token`).',
  },
  slurmPartition: { type: 'string', description: 'Partition for the jobs.' },
  slurmAccount: { type: 'string', description: 'Account for the jobs.' },
  slurmQos: { type: 'string', description: 'Quality of service for the jobs.' },
  slurmConstraints: { type: 'string', description: 'Features that nodes must have, such as a100.' },
  slurmOutput: {
    type: 'string',
    default: '/dev/null',
    description: 'File on the node for the output of this program, such as /shared/log/%j.out.',
  },
  kubernetesUrl: {
    type: 'string',
    description: 'URL of the API server (default inside a cluster: that of the cluster).',
  },
  kubernetesTokenFile: { type: 'string', description: 'File with a bearer token, read for each call.' },
  kubernetesCaFile: { type: 'string', description: 'CA certificates (PEM file) of the API server.' },
  kubernetesNamespace: {
    type: 'string',
    description: 'Namespace for the jobs (default: that of the token, else `default`).',
  },
  kubernetesImage: { type: 'string', description: 'Container image with this program as its entry point.' },
  kubernetesPod: {
    type: 'string',
    description: 'JSON that is merged into the pod: {"nodeSelector": …, "tolerations": …, "imagePullSecrets": …}.',
  },
} as const satisfies OptionTable;

type EngineValues = OptionValues<typeof engineTable>;
export interface EngineOptions extends EngineValues {
  /** The server's URL as nodes reach it. */
  readonly attemptUrl: string;
  readonly attemptCommand: string;
}

/** A host that also serves stays responsive. */
export const defaultTrainerNice = 10;

const program = fileURLToPath(new URL('./main.ts', import.meta.url));
const quoted = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

/** @throws Usage */
export function engineOptions(given: EngineValues, url: string, scripts: ScriptOptions): EngineOptions {
  const attempt = parseServerUrl(given.attemptUrl ?? url);
  if (!attempt.ok) throw new Usage(`--attempt-url ${attempt.shown} is not the URL of a server: ${attempt.problem}.`, 2);
  if (given.executor === 'kubernetes' && given.kubernetesImage === undefined) {
    throw new Usage('Kubernetes needs an image with this program: --kubernetes-image. See docs/runners.md.', 2);
  }
  if (given.executor !== 'local' && scripts.pythons.some(({ key }) => key === undefined)) {
    throw new Usage('With an engine each Python has a name: --script-python py:3.11=/usr/bin/python3.', 2);
  }
  const files = ['slurmTokenFile', 'kubernetesTokenFile', 'kubernetesCaFile'] as const;
  const resolved = files.map((name) => [name, given[name] === undefined ? undefined : path.resolve(given[name])]);
  return {
    ...given,
    ...(Object.fromEntries(resolved) as Pick<EngineValues, (typeof files)[number]>),
    attemptUrl: attempt.value,
    attemptCommand:
      given.attemptCommand ??
      [process.execPath, '--disable-warning=ExperimentalWarning', program].map(quoted).join(' '),
  };
}

/** Flags of an attempt: scripts and trainers run on the node with the operator's settings of this runner. */
export function attemptFlags(
  { engineCpus }: EngineOptions,
  {
    scripts,
    trainerSandbox,
    trainerNice,
  }: { readonly scripts: ScriptOptions; readonly trainerSandbox: boolean; readonly trainerNice: number },
): string[] {
  const { pythons, network, wheelhouse, pipIndexUrl, processes, nice, weights } = scripts;
  const open = [
    ...(trainerSandbox ? [] : ['--no-trainer-sandbox']),
    ...(trainerNice === defaultTrainerNice ? [] : [`--trainer-nice=${trainerNice}`]),
  ];
  if (!scripts.enabled || pythons.length === 0) return open;
  const named = pythons.map(({ key, python }) => `${key ?? ''}=${python}`).join(',');
  return [
    ...open,
    `--script-python=${named}`,
    `--script-cpus=${engineCpus}`,
    `--script-processes=${processes}`,
    ...(nice === 0 ? [] : [`--script-nice=${nice}`]),
    ...(network ? ['--allow-script-network'] : []),
    ...(weights === undefined ? [] : [`--script-weights=${weights}`]),
    ...(wheelhouse === undefined ? [] : [`--wheelhouse=${wheelhouse}`]),
    ...(pipIndexUrl === undefined ? [] : [`--pip-index-url=${pipIndexUrl}`]),
  ];
}

/** The full command line of an attempt, which reads its order from standard input. */
export const attemptLine = ({ attemptCommand, attemptFolder }: EngineOptions, flags: readonly string[]): string =>
  [
    attemptCommand,
    'attempt --order -',
    ...(attemptFolder === undefined ? [] : [quoted(`--folder=${attemptFolder}`)]),
    ...flags.map(quoted),
  ].join(' ');
