import { trainerMalloc } from '@platform/contract/job';

const passedOn = [
  'PATH',
  'HOME',
  'LANG',
  'LC_ALL',
  'TMPDIR',
  'TZ',
  'SystemRoot',
  'NODE_ENV',
  'LD_LIBRARY_PATH',
  // Which GPUs and how many threads an engine allows.
  'CUDA_VISIBLE_DEVICES',
  'NVIDIA_VISIBLE_DEVICES',
  'OMP_NUM_THREADS',
];

/** ONNX Runtime would send what it runs, and where, to its makers. */
export const noTelemetry = { ORT_DISABLE_TELEMETRY: '1' } as const;

/** What a trainer sees of the runner's environment: nothing secret. */
export function trainerEnv(own: Record<string, string | undefined>): Record<string, string | undefined> {
  const env: Record<string, string | undefined> = {};
  for (const name of passedOn) if (own[name] !== undefined) env[name] = own[name];
  return { ...env, ...trainerMalloc, ...noTelemetry };
}
