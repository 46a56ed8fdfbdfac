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
  /** False: it was so already. */
  isChanged: boolean;
  /** One sentence for people. */
  did: string;
}

/**
 * What a person at the machine may ask for. Each resolves when it is decided and written down; what follows from it
 * (a download, a restart) goes on by itself. @throws PlatformError when it cannot be done
 */
export interface Operator {
  /** Asks the management server now what is wanted, and tries again what failed. */
  checkNow(): Promise<Done>;
  /** Back to the previous version, without a download; the present one is not tried again by itself. */
  rollback(program: Program): Promise<Done>;
  /** Keeps to an installed version whatever the management server wants; null: no longer. */
  pin(program: Program, wish: string | null): Promise<Done>;
  /** Lets quarantined versions be tried again. */
  clearQuarantine(program: Program): Promise<Done>;
}

export interface OperatorParts {
  stores: Record<Program, ProgramStore>;
  disk: Disk;
  pins: Cell<Pins>;
  urgent: Cell<Partial<Record<Program, string>>>;
  /** Looks again at once, and at what failed, too. */
  again: (program: Program) => void;
}

/** What a person at the machine does to its versions. */
export function operatorOf({ stores, disk, pins, urgent, again }: OperatorParts): Operator {
  const queue = { last: Promise.resolve() as Promise<unknown> };
  /** One after the other: of two people who ask at once, neither undoes what the other did. */
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
    const all = (await stores[program].list()).map(({ id }) => id).toReversed(); // the newest of a name
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
