import { availableParallelism } from 'node:os';
import path from 'node:path';
import { Usage, type OptionTable, type OptionValues } from '@platform/kit/node';
import { parsePythons, type NamedPython } from '@platform/sandbox/environments';

/** What the operator of this host allows training scripts. */
export const scriptTable = {
  scriptPython: {
    type: 'string',
    description:
      'Python environments for training scripts by the names that jobs request, the default first: py:3.11=/usr/bin/python3,tf:2.17=/opt/tf/bin/python (default: python3 of PATH).',
  },
  scripts: { type: 'boolean', default: true, description: 'Run training scripts of users, in a sandbox.' },
  allowScriptNetwork: {
    type: 'boolean',
    description: 'Give training scripts unrestricted access to the network of this host.',
  },
  wheelhouse: { type: 'string', description: 'Folder with the wheels that training scripts may install.' },
  scriptWeights: {
    type: 'string',
    description: 'Folder with pretrained weights that training scripts may read. They find it in PLATFORM_WEIGHTS_DIR.',
  },
  pipIndexUrl: {
    type: 'string',
    description: 'Package index that training scripts may install from. Only the installation has network access.',
  },
  scriptCpus: { type: 'number', min: 0.1, description: 'Maximum CPUs of a training script (default: all).' },
  scriptProcesses: {
    type: 'number',
    default: 512,
    min: 16,
    max: 100_000,
    description: 'Maximum number of processes and threads of a training script.',
  },
  scriptNice: { type: 'number', default: 0, min: 0, max: 19, description: 'Nice value of training scripts.' },
} as const satisfies OptionTable;

export interface ScriptOptions {
  /** False if the operator disabled scripts on this host. */
  readonly enabled: boolean;
  readonly pythons: readonly NamedPython[];
  readonly network: boolean;
  /** Absolute path. */
  readonly wheelhouse: string | undefined;
  /** Absolute path. */
  readonly weights: string | undefined;
  readonly pipIndexUrl: string | undefined;
  readonly cpus: number;
  readonly processes: number;
  /** Added to the runner's own nice value. */
  readonly nice: number;
}

/** @throws Usage */
export function scriptOptions(given: OptionValues<typeof scriptTable>): ScriptOptions {
  const { scriptPython, wheelhouse, scriptWeights, pipIndexUrl } = given;
  if (pipIndexUrl !== undefined && !/^https?:$/.test(URL.parse(pipIndexUrl)?.protocol ?? '')) {
    throw new Usage('--pip-index-url must be an address such as https://mirror.example/simple.', 2);
  }
  return {
    enabled: given.scripts,
    pythons: pythonsIn(scriptPython ?? ''),
    network: given.allowScriptNetwork,
    wheelhouse: wheelhouse === undefined ? undefined : path.resolve(wheelhouse),
    weights: scriptWeights === undefined ? undefined : path.resolve(scriptWeights),
    pipIndexUrl,
    cpus: Math.min(given.scriptCpus ?? Infinity, availableParallelism()),
    processes: given.scriptProcesses,
    nice: given.scriptNice,
  };
}

function pythonsIn(text: string): NamedPython[] {
  try {
    return parsePythons(text);
  } catch (error) {
    throw new Usage(`--script-python: ${error instanceof Error ? error.message : 'not understood'}`, 2);
  }
}
