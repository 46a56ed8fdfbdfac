import { trainerMalloc } from '@platform/contract/job/job';

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
  // GPUs and threads that the engine assigns.
  'CUDA_VISIBLE_DEVICES',
  'NVIDIA_VISIBLE_DEVICES',
  'OMP_NUM_THREADS',
];

/** ONNX Runtime would otherwise send usage data to its vendor. */
export const noTelemetry = { ORT_DISABLE_TELEMETRY: '1' } as const;

/** The subset of the runner's environment that a trainer gets: it contains no secrets. */
export function trainerEnv(own: Record<string, string | undefined>): Record<string, string | undefined> {
  const env: Record<string, string | undefined> = {};
  for (const name of passedOn) if (own[name] !== undefined) env[name] = own[name];
  return { ...env, ...trainerMalloc, ...noTelemetry };
}
