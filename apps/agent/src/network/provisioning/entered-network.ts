import type { Network, NewProfile, SavedProfile } from '../../os/network-port.ts';
import { forgetChecked, readChecked, writeChecked } from '../../storage/checked-file.ts';
import type { Submission } from '../endpoints/provisioning-view.ts';
import type { Context } from '../../health/context.ts';

const enteredFile = 'state/entered-network.json';
/** By then, the operating system has written a new profile to the disk. */
const flushMs = 60_000;

const userPriority = 999;
const earlierPriority = 998;
const roamingPriority = 100;

/** A network that a user entered, until its profile is on the disk for certain. */
interface Entered {
  ssid: string;
  psk: string;
  isHidden: boolean;
  isTried: boolean;
}

interface Parts extends Pick<Context, 'disk' | 'clock' | 'log'> {
  network: Network;
}

/**
 * The profiles of networks that users entered. A network is on the disk before the user gets the answer:
 * NetworkManager does not flush its own files, and a power cut may follow at once.
 */
export class EnteredNetworks {
  readonly #parts: Parts;
  /** Profile that the last submission added. */
  #newest = '';

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** @returns UUID of its profile. @throws Error if it cannot be stored */
  async accept(wifi: NonNullable<Submission['wifi']>, isRoaming: boolean): Promise<string> {
    await writeChecked(this.#parts.disk, enteredFile, { ...wifi, isTried: false } satisfies Entered);
    return this.#save(wifi, isRoaming);
  }

  /** After a start: what a user entered before the power failed. @returns the profile to try; undefined: none */
  async recover(isRoaming: boolean): Promise<string | undefined> {
    const { network, disk, log } = this.#parts;
    const { value: entered } = await readChecked(disk, enteredFile, enteredOf);
    if (!entered) return undefined;
    const found = network.state.get().profiles.find((one) => isProvisioned(one) && one.ssid === entered.ssid);
    log.info('a network that a user entered before this start is taken up', { ssid: entered.ssid });
    const profile = found && entered.isTried ? found.uuid : await this.#save(entered, isRoaming);
    return entered.isTried ? undefined : profile;
  }

  /** The network works: it leads from now on, and earlier ones of the same name are removed. */
  async confirm(uuid: string): Promise<void> {
    const { network } = this.#parts;
    const { profiles } = network.state.get();
    const own = profiles.find((one) => one.uuid === uuid);
    if (!own || !isProvisioned(own)) return;
    for (const other of profiles) {
      if (other === own || !isProvisioned(other)) continue;
      if (other.ssid === own.ssid) await network.remove(other.uuid);
      else if (other.priority === userPriority) await network.setPriority(other.uuid, earlierPriority);
    }
    this.#newest = '';
  }

  /** The network does not let this device in: its profile would only be in the way of those that work. */
  async reject(uuid: string): Promise<void> {
    if (uuid !== this.#newest) return;
    this.#newest = '';
    await this.#parts.network.remove(uuid);
    await forgetChecked(this.#parts.disk, enteredFile);
  }

  /** Forgets the copy once the operating system has its profile on the disk. */
  async settle(signal: AbortSignal): Promise<void> {
    const { disk, clock } = this.#parts;
    const { value: entered } = await readChecked(disk, enteredFile, enteredOf);
    if (!entered) return;
    if (!entered.isTried) await writeChecked(disk, enteredFile, { ...entered, isTried: true } satisfies Entered);
    await clock.sleep(flushMs, signal);
    const { value: now } = await readChecked(disk, enteredFile, enteredOf);
    if (!signal.aborted && now?.isTried === true && now.ssid === entered.ssid) await forgetChecked(disk, enteredFile);
  }

  async #save({ ssid, psk, isHidden }: Omit<Entered, 'isTried'>, isRoaming: boolean): Promise<string> {
    const profile: NewProfile = {
      name: `platform ${ssid}`,
      type: 'wifi',
      interface: '',
      priority: isRoaming ? roamingPriority : userPriority,
      isAutoconnect: true,
      mark: { kind: 'provisioned' },
      wifi: { ssid, isHidden, security: psk === '' ? { is: 'open' } : { is: 'psk', psk } },
      dns: [],
      routeMetric: 600,
    };
    this.#newest = await this.#parts.network.save(profile);
    return this.#newest;
  }
}

const isProvisioned = ({ mark }: SavedProfile): boolean => mark?.kind === 'provisioned';

function enteredOf(value: unknown): Entered {
  const { ssid, psk, isHidden, isTried } = value as Partial<Entered>;
  if (typeof ssid !== 'string' || typeof psk !== 'string') throw new Error('it holds no network');
  return { ssid, psk, isHidden: isHidden === true, isTried: isTried === true };
}
