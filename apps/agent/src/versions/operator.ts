import { PlatformError } from '@platform/contract/errors';
import type { Cell } from '@platform/kit';
import type { Disk } from '../os/ports.ts';
import { versionOf } from '../state/state.ts';
import { nameOf, programNames, type Program } from './layout.ts';
import { writePins, type Pin, type Pins } from './pins.ts';
import { problemOfUrl } from './receive.ts';
import type { ProgramStore } from './store.ts';
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
  pin(program: Program, wish: string | null): Promise<Done>;
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

export function operatorOf({ stores, disk, pins, urgent, again }: OperatorParts): Operator {
  const queue = { last: Promise.resolve() as Promise<unknown> };
  /** Serializes the requests: two operators must not undo each other's changes. */
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = queue.last.then(work);
    queue.last = mine.catch(() => {});
    return mine;
  };
  const change = async (program: Program, pin: Pin | undefined): Promise<void> => {
    const { [program]: _, ...others } = pins.get();
    const next = pin ? { ...others, [program]: pin } : others;
    await writePins(disk, next);
    pins.set(next);
    again(program);
  };
  const pinTo = (id: string): Pin => ({ id, url: '', sha256: '', wish: versionOf(id) });
  const nothing = (did: string): Done => ({ isChanged: false, did });
  const done = (did: string): Done => ({ isChanged: true, did });

  const installed = async (program: Program, wish: string): Promise<string | undefined> => {
    const all = (await stores[program].list()).map(({ id }) => id).toReversed(); // newest first
    return all.find((id) => id === wish) ?? all.find((id) => versionOf(id) === wish);
  };

  return {
    async checkNow() {
      for (const program of programNames) again(program);
      return done('It is looked for new versions now.');
    },

    rollback: (program) =>
      inTurn(async () => {
        const store = stores[program];
        const to = (await store.trial())?.from ?? (await store.previous());
        if (to === null) throw new PlatformError('NO_PREVIOUS_VERSION', { program: nameOf(program) });
        urgent.update((now) => ({ ...now, [program]: to }));
        await change(program, pinTo(to));
        return done(`${nameOf(program)} goes back to ${versionOf(to)} and stays there until the pin is taken off.`);
      }),

    pin: (program, wish) =>
      inTurn(async () => {
        const name = nameOf(program);
        const now = pins.get()[program];
        if (wish === null) {
          if (!now) return nothing(`${name} is not pinned on this machine.`);
          await change(program, undefined);
          return done(`${name} is not pinned on this machine any more.`);
        }
        if (now?.wish === wish) return nothing(`${name} is pinned to ${wish} already.`);
        if (/^(https?|file):/.test(wish)) {
          const [url = '', sha256 = ''] = wish.split('#sha256=');
          const problem =
            sha256 !== '' && !/^[0-9a-f]{64}$/.test(sha256)
              ? 'after #sha256= come 64 hexadecimal digits'
              : problemOfUrl(url, sha256 !== '');
          if (problem !== undefined) throw new PlatformError('DOWNLOAD_FAILED', { url, problem });
          await change(program, { id: '', url, sha256, wish });
          return done(`${name} is pinned to ${wish} on this machine.`);
        }
        const id = await installed(program, wish);
        if (id === undefined || !isId(id)) throw new PlatformError('VERSION_NOT_INSTALLED', { program: name, wish });
        await change(program, { ...pinTo(id), wish });
        return done(`${name} is pinned to ${wish} on this machine.`);
      }),

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
