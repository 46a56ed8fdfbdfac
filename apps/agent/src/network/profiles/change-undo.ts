import type { Log } from '@platform/kit';
import type { Network, NetworkState, SavedProfile } from '../../os/network-port.ts';
import type { Disk } from '../../os/ports.ts';
import { forgetChecked, readChecked, writeChecked } from '../../storage/checked-file.ts';
import { digestOf, digestOfAll, profileOf, type NetworkStep } from './additional-plan.ts';
import type { AdditionalNetwork } from '../settings/network-settings.ts';

/** What the profiles of this agent were made of; only the agent's user may read it. */
const appliedFile = 'state/applied-networks.json';
/** Exists while a change is tried. */
const undoFile = 'state/network-undo.json';

/** A profile before the change, passwords included. */
interface Before {
  uuid: string;
  isAutoconnect: boolean;
  network: AdditionalNetwork;
}

interface Undo {
  before: readonly Before[];
  /** Names of the networks that the change adds. */
  added: readonly string[];
  /** Identifies the networks of the change. */
  digest: string;
}

/**
 * Makes the profiles again that a rejected change has altered or removed, and removes those that it added.
 * NetworkManager's checkpoints restore those in use only, and do not survive a power cut.
 */
export class ChangeUndo {
  readonly #network: Network;
  readonly #disk: Disk;
  readonly #log: Log;
  #applied = '';

  constructor({ network, disk, log }: { network: Network; disk: Disk; log: Log }) {
    this.#network = network;
    this.#disk = disk;
    this.#log = log;
  }

  /** The profiles of this agent are those of `networks` now. */
  async applied(networks: readonly AdditionalNetwork[]): Promise<void> {
    const digest = digestOfAll(networks);
    if (digest === this.#applied) return;
    await writeChecked(this.#disk, appliedFile, { networks });
    this.#applied = digest;
  }

  /** Stores what these steps change on the way to the networks of `digest`. Durable when it resolves. */
  async begin(steps: readonly NetworkStep[], { profiles }: NetworkState, digest: string): Promise<void> {
    const { value: known = [] } = await readChecked(this.#disk, appliedFile, networksOf);
    const before: Before[] = [];
    for (const step of steps) {
      const profile = step.do === 'addNetwork' ? undefined : profiles.find(({ uuid }) => uuid === step.uuid);
      if (!profile) continue;
      const network = known.find((one) => isMadeOf(profile, one));
      if (network) before.push({ uuid: profile.uuid, isAutoconnect: profile.isAutoconnect, network });
      else this.#log.warn('a network cannot be restored if its change fails', { network: step.name });
    }
    const added = steps.flatMap(({ do: what, name }) => (what === 'addNetwork' ? [name] : []));
    const undo: Undo = { before, added, digest };
    await writeChecked(this.#disk, undoFile, undo);
  }

  /** The change holds. */
  async forget(): Promise<void> {
    await forgetChecked(this.#disk, undoFile);
  }

  /**
   * Restores the profiles before the change, also after a power cut in its middle; else does nothing.
   *
   * @returns the digest of the change; undefined: there was none
   */
  async restore(): Promise<string | undefined> {
    const { value: undo } = await readChecked(this.#disk, undoFile, undoOf);
    if (!undo) return undefined;
    const { before, added, digest } = undo;
    for (const { uuid, isAutoconnect, network } of before) {
      const profile = this.#network.state.get().profiles.find((one) => one.uuid === uuid);
      const isReleased = profile !== undefined && profile.mark === undefined;
      if (isReleased || (profile && isMadeOf(profile, network))) continue;
      await this.#network.save(profileOf(network, isAutoconnect), uuid);
      this.#log.info('a network is restored as it was before a change', { network: network.name });
    }
    for (const { uuid, mark } of this.#network.state.get().profiles)
      if (mark?.kind === 'additional' && added.includes(mark.name)) await this.#network.remove(uuid);
    await this.forget();
    return digest;
  }
}

const isMadeOf = ({ mark }: SavedProfile, network: AdditionalNetwork): boolean =>
  mark?.kind === 'additional' && mark.name === network.name && mark.digest === digestOf(network);

function networksOf(value: unknown): readonly AdditionalNetwork[] {
  const { networks } = value as { networks?: unknown };
  if (!Array.isArray(networks)) throw new Error('it names no networks');
  return networks as readonly AdditionalNetwork[];
}

function undoOf(value: unknown): Undo {
  const { before, added, digest } = value as Partial<Record<keyof Undo, unknown>>;
  if (!Array.isArray(before) || !Array.isArray(added) || typeof digest !== 'string')
    throw new Error('it names no networks');
  return { before: before as Before[], added: added as string[], digest };
}
