/** What this runner can run; it sends this with each lease request. */
import { hostname } from 'node:os';
import type { JobKind } from '@platform/contract/job/job';
import { gpusHere } from './gpus.ts';
import type { Trainers } from './trainer/command.ts';

/** An environment for scripts, as ListSupportedContainers returns it. */
export interface OfferedContainer {
  /** Name that jobs request, for example `py:3.11`. */
  readonly key: string;
  readonly uri: string;
  readonly framework: string;
  readonly description: string;
  /** ms since 1970. */
  readonly endOfLife: number | undefined;
}
export interface RunnerCapabilities {
  readonly kinds: readonly JobKind[];
  /** For kind `custom`; the first one is the default. */
  readonly containers: readonly OfferedContainer[];
  /** Why `custom` is missing, with the remedy; empty if it is present. */
  readonly noScriptsBecause: string;
  readonly gpus: number;
  readonly executor: 'local' | 'slurm' | 'kubernetes';
  readonly host: string;
  readonly version: string;
}

export function localCapabilities(trainers: Trainers, version: string): RunnerCapabilities {
  return {
    kinds: Object.keys(trainers) as JobKind[],
    containers: [],
    noScriptsBecause: '',
    gpus: gpusHere(process.env['CUDA_VISIBLE_DEVICES']).length,
    executor: 'local',
    host: hostname(),
    version,
  };
}
