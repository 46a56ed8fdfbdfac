import { PlatformError } from '@platform/contract/errors/errors';
import { oneAtATime, type Cell } from '@platform/kit';
import type { Disk } from '../os/ports.ts';
import { versionOf } from '../state/state.ts';
import { nameOf, programNames, type Program } from './layout.ts';
import { writePins, type Pin, type Pins } from './pins.ts';
import { problemOfUrl } from './receive.ts';
import type { ProgramStore } from './program-store.ts';
import { isId } from '../state/trial-file.ts';

export interface Done {
  /** False: nothing had to change. */
  isChanged: boolean;
  /** One sentence for display. */
  did: string;
}

/**
 * Requests of an operator on this machine. Each resolves when the decision is stored. A download or restart that
 * follows from it happens later.
 *
 * @throws PlatformError if the request cannot be met
 */
export interface Operator {
  /** Checks both programs against their desired versions now, and retries failed downloads. */
  checkNow(): Promise<Done>;
  /** Pins the previous version, without a download. The current one is not used again until the pin is removed. */
  rollback(program: Program): Promise<Done>;
  /** Pins an installed version or a URL, whatever the management server desires; null: removes the pin. */
  pin(program: Program, requested: string | null): Promise<Done>;
  /** Allows another try of quarantined versions. */
  clearQuarantine(program: Program): Promise<Done>;
}

export interface OperatorParts {
  stores: Record<Program, ProgramStore>;
  disk: Disk;
  pins: Cell<Pins>;
  urgent: Cell<Partial<Record<Program, string>>>;
  /** Starts another pass at once and retries what failed. */
  again: (program: Program) => void;
}

export function operatorOf(parts: OperatorParts): Operator {
  const { stores, again } = parts;
  const inTurn = oneAtATime(); // two operators must not undo each other's changes
  return {
    async checkNow() {
      for (const program of programNames) again(program);
      return done('It is looked for new versions now.');
    },
    rollback: (program) => inTurn(() => rollBack(parts, program)),
    pin: (program, requested) =>
      inTurn(() => (requested === null ? unpin(parts, program) : pinProgram(parts, program, requested))),
    clearQuarantine: (program) =>
      inTurn(async () => {
        const wasThere = await stores[program].clearQuarantine();
        again(program);
        return wasThere
          ? done(`The quarantine of ${nameOf(program)} is cleared.`)
          : nothing(`No version of ${nameOf(program)} is quarantined.`);
      }),
  };
}

const nothing = (did: string): Done => ({ isChanged: false, did });
const done = (did: string): Done => ({ isChanged: true, did });
const pinOfId = (id: string, requested: string): Pin => ({ id, url: '', sha256: '', desired: requested });

async function setPin({ disk, pins, again }: OperatorParts, program: Program, pin: Pin | undefined): Promise<void> {
  const { [program]: _, ...others } = pins.get();
  const next = pin ? { ...others, [program]: pin } : others;
  await writePins(disk, next);
  pins.set(next);
  again(program);
}

async function rollBack(parts: OperatorParts, program: Program): Promise<Done> {
  const store = parts.stores[program];
  const to = (await store.trial())?.from ?? (await store.previous());
  if (to === null) throw new PlatformError('NO_PREVIOUS_VERSION', { program: nameOf(program) });
  parts.urgent.update((now) => ({ ...now, [program]: to }));
  await setPin(parts, program, pinOfId(to, versionOf(to)));
  return done(`${nameOf(program)} goes back to ${versionOf(to)} and stays there until the pin is taken off.`);
}

async function unpin(parts: OperatorParts, program: Program): Promise<Done> {
  if (!parts.pins.get()[program]) return nothing(`${nameOf(program)} is not pinned on this machine.`);
  await setPin(parts, program, undefined);
  return done(`${nameOf(program)} is not pinned on this machine any more.`);
}

async function pinProgram(parts: OperatorParts, program: Program, requested: string): Promise<Done> {
  const name = nameOf(program);
  if (parts.pins.get()[program]?.desired === requested) return nothing(`${name} is pinned to ${requested} already.`);
  const pin = /^(https?|file):/.test(requested)
    ? pinOfUrl(requested)
    : await pinOfInstalled(parts.stores[program], program, requested);
  await setPin(parts, program, pin);
  return done(`${name} is pinned to ${requested} on this machine.`);
}

/** @throws PlatformError DOWNLOAD_FAILED if the URL must not be used */
function pinOfUrl(requested: string): Pin {
  const [url = '', sha256 = ''] = requested.split('#sha256=');
  const problem =
    sha256 !== '' && !/^[0-9a-f]{64}$/.test(sha256)
      ? 'after #sha256= come 64 hexadecimal digits'
      : problemOfUrl(url, sha256 !== '');
  if (problem !== undefined) throw new PlatformError('DOWNLOAD_FAILED', { url, problem });
  return { id: '', url, sha256, desired: requested };
}

/** @throws PlatformError VERSION_NOT_INSTALLED */
async function pinOfInstalled(store: ProgramStore, program: Program, requested: string): Promise<Pin> {
  const all = (await store.list()).map(({ id }) => id).toReversed(); // newest first
  const id = all.find((one) => one === requested) ?? all.find((one) => versionOf(one) === requested);
  if (id === undefined || !isId(id))
    throw new PlatformError('VERSION_NOT_INSTALLED', { program: nameOf(program), desired: requested });
  return pinOfId(id, requested);
}
