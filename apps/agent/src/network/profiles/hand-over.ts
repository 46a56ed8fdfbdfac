import type { RestoredFile } from '../../os/managed-files.ts';
import type { Network, NetworkState, SavedProfile } from '../../os/network-port.ts';
import type { Disk } from '../../os/ports.ts';
import { outcomeClauses, namesClause } from '../../os/restored-text.ts';
import { forgetChecked, readChecked, writeChecked } from '../../storage/checked-file.ts';

/** Written before the first change: after a crash in the middle, another profile may be in use. */
const recordFile = 'state/handed-over-networks.json';

interface OwnProfile {
  uuid: string;
  /** SSID, or name of a wired profile. */
  name: string;
}

interface HandOverPlan {
  left: readonly OwnProfile[];
  removed: readonly OwnProfile[];
}

/** What became of the profiles and files of this agent. */
export interface HandedOver {
  /** Names of the networks that belong to the operating system now. */
  left: readonly string[];
  removed: readonly string[];
  files: readonly RestoredFile[];
}

export const nothingHandedOver: HandedOver = { left: [], removed: [], files: [] };

const isOwn = ({ mark }: SavedProfile): boolean => mark !== undefined && mark.kind !== 'hotspot';
const nameOf = ({ uuid, ssid, name }: SavedProfile): OwnProfile => ({ uuid, name: ssid || name });

/**
 * What the machine is online by and what a user entered is left to the operating system: otherwise no user could reach
 * the machine any more. Without a default route, each profile may be what it comes online by.
 */
export function planHandOver({ profiles, devices }: NetworkState, isAllRemoved = false): HandOverPlan {
  const links = devices.filter(({ isHotspot }) => !isHotspot);
  const used = new Set(links.map(({ profile }) => profile));
  const isOnline = links.some(({ state, hasDefaultRoute }) => state === 'connected' && hasDefaultRoute);
  const isLeft = ({ uuid, mark }: SavedProfile): boolean =>
    !isAllRemoved && (!isOnline || used.has(uuid) || mark?.kind === 'provisioned');
  const own = profiles.filter(isOwn);
  return { left: own.filter(isLeft).map(nameOf), removed: own.filter((one) => !isLeft(one)).map(nameOf) };
}

/** The plan from before a crash holds for the profiles that it names. */
function continued(before: HandOverPlan, now: HandOverPlan): HandOverPlan {
  const known = new Set([...before.left, ...before.removed].map(({ uuid }) => uuid));
  const isNew = ({ uuid }: OwnProfile): boolean => !known.has(uuid);
  return {
    left: [...before.left, ...now.left.filter(isNew)],
    removed: [...before.removed, ...now.removed.filter(isNew)],
  };
}

/** All are removed that still are this agent's. */
function allRemoved(before: HandOverPlan, now: HandOverPlan): HandOverPlan {
  const isNamed = ({ uuid }: OwnProfile): boolean => now.removed.some((one) => one.uuid === uuid);
  return {
    left: before.left.filter((one) => !isNamed(one)),
    removed: [...before.removed.filter((one) => !isNamed(one)), ...now.removed],
  };
}

/** Gives up the profiles and files of this agent. Each run continues the one that a crash or an error ended. */
export class NetworkHandOver {
  readonly #network: Network;
  readonly #disk: Disk;

  constructor({ network, disk }: { network: Network; disk: Disk }) {
    this.#network = network;
    this.#disk = disk;
  }

  /** What the runs before did. */
  async recorded(): Promise<HandedOver> {
    const { plan, files } = await this.#read();
    return outcome(plan, files);
  }

  /** @throws Error if the operating system does not answer; a later run continues */
  async run({ isAllRemoved = false } = {}): Promise<HandedOver> {
    const network = this.#network;
    const record = await this.#read();
    const state = network.state.get();
    const merge = isAllRemoved ? allRemoved : continued;
    const plan = merge(record.plan, planHandOver(state, isAllRemoved));
    const save = (files: readonly RestoredFile[]): Promise<void> =>
      writeChecked(this.#disk, recordFile, { ...plan, files } satisfies HandOverPlan & { files: unknown });
    await save(record.files);
    await network.stopHotspot();
    for (const { uuid } of plan.left) await this.#leave(uuid);
    const used = new Set(state.devices.map(({ profile }) => profile));
    const isUsed = ({ uuid }: OwnProfile): boolean => used.has(uuid);
    for (const one of plan.removed) if (!isUsed(one)) await this.#remove(one.uuid);
    const files = [...record.files, ...(await network.restoreFiles())];
    await network.setCountry('').catch(() => ''); // a reboot gives it back, too
    await network.setCountry('');
    await save(files);
    // Last: the command that does this may come over that link.
    for (const one of plan.removed) if (isUsed(one)) await this.#remove(one.uuid);
    return outcome(plan, files);
  }

  /** The agent manages the network again. */
  async forget(): Promise<void> {
    await forgetChecked(this.#disk, recordFile);
  }

  async #leave(uuid: string): Promise<void> {
    const profile = this.#own(uuid);
    if (!profile) return;
    if (!profile.isAutoconnect) await this.#network.setAutoconnect(uuid, true);
    await this.#network.disown(uuid);
  }

  async #remove(uuid: string): Promise<void> {
    if (this.#own(uuid)) await this.#network.remove(uuid);
  }

  #own(uuid: string): SavedProfile | undefined {
    return this.#network.state.get().profiles.find((one) => one.uuid === uuid && isOwn(one));
  }

  async #read(): Promise<{ plan: HandOverPlan; files: readonly RestoredFile[] }> {
    const { value } = await readChecked(this.#disk, recordFile, recordOf);
    return value ?? { plan: { left: [], removed: [] }, files: [] };
  }
}

const outcome = ({ left, removed }: HandOverPlan, files: readonly RestoredFile[]): HandedOver => ({
  left: left.map(({ name }) => name),
  removed: removed.map(({ name }) => name),
  files,
});

/** For the status and the log; empty: there was nothing of this agent. */
export function handedOverText({ left, removed, files }: HandedOver): string {
  return [
    ...namesClause('left to the system', left),
    ...namesClause('removed', removed),
    ...outcomeClauses(files),
  ].join('; ');
}

function recordOf(value: unknown): { plan: HandOverPlan; files: readonly RestoredFile[] } {
  const { left, removed, files } = value as Partial<HandOverPlan & { files: readonly RestoredFile[] }>;
  if (!Array.isArray(left) || !Array.isArray(removed)) throw new Error('it names no profiles');
  return { plan: { left, removed }, files: Array.isArray(files) ? files : [] };
}
