import { changedOr, within, type Clock } from '@platform/kit';
import type { JoinResult, Network, NetworkState } from '../../os/network-port.ts';
import type { NetworkStep } from './additional-plan.ts';
import type { AdditionalNetwork } from '../settings/network-settings.ts';

/** NetworkManager takes a link down some seconds after its profile was removed; on a busy board later. */
const leaveMs = 30_000;
const joinMs = 60_000;
/** For contact with the management server after a change. */
const contactMs = 60_000;
const contactEveryMs = 5_000;
/** One answer may still come over a link that is going down. */
const neededContacts = 2;
/** From a rollback until the links of before are up again. */
const returnMs = 60_000;

export interface ProofParts {
  network: Network;
  /** Whether the management server answers a request that begins now, on a connection of its own. */
  contact: (signal: AbortSignal) => Promise<boolean>;
  clock: Clock;
}

/** Why a change is not proven. `isRefused`: a network refused this machine, which no outage explains. */
export interface ChangeProblem {
  /** A clause without a full stop. */
  reason: string;
  isRefused: boolean;
}

/** The links as the operating system shows them, also those that come up or go down. */
const users = ({ devices }: NetworkState, uuid: string): readonly { interface: string }[] =>
  devices.filter(({ profile, isHotspot }) => profile === uuid && !isHotspot);

/**
 * This step may cut the machine off: it takes a link away, or brings one up that may take the default route. A new WiFi
 * network does neither: the agent joins it later, and checks what it reaches.
 */
export const isRisky = (step: NetworkStep, networks: readonly AdditionalNetwork[], state: NetworkState): boolean =>
  (step.do !== 'addNetwork' && users(state, step.uuid).length > 0) ||
  freeInterface(step, networks, state) !== undefined;

/** The interface that NetworkManager will connect by this wired network beside the link in use. */
function freeInterface(
  step: NetworkStep,
  networks: readonly AdditionalNetwork[],
  { devices }: NetworkState,
): string | undefined {
  const network = step.do === 'removeNetwork' ? undefined : networks.find(({ name }) => name === step.name);
  const isOnline = devices.some(({ state, isHotspot }) => state === 'connected' && !isHotspot);
  if (network?.type !== 'wired' || !isOnline) return undefined;
  return devices.find(
    (one) =>
      one.type === 'wired' &&
      (network.interface === '' || network.interface === one.interface) &&
      (one.state === 'disconnected' || one.state === 'connecting'),
  )?.interface;
}

/**
 * Whether the machine is online by the networks after a change: no link uses what was removed, what was changed is
 * activated again, and the management server has answered since. What was there before cannot give this proof.
 *
 * @returns the problem; undefined: the change is proven
 */
export async function problemAfter(
  risky: readonly NetworkStep[],
  networks: readonly AdditionalNetwork[],
  before: NetworkState,
  parts: ProofParts,
  signal: AbortSignal,
): Promise<ChangeProblem | undefined> {
  const removed = risky.filter((step) => step.do === 'removeNetwork');
  const problem = (await untilLeft(removed, parts, signal)) ?? (await activated(risky, before, parts, signal));
  if (problem) return problem;
  await broughtUp(risky, networks, before, parts, signal);
  if (await hasContact(parts, signal)) return undefined;
  return temporary('the management server was not reached after the change');
}

const temporary = (reason: string): ChangeProblem => ({ reason, isRefused: false });

async function untilLeft(
  removed: readonly (NetworkStep & { do: 'removeNetwork' })[],
  { network, clock }: ProofParts,
  signal: AbortSignal,
): Promise<ChangeProblem | undefined> {
  const end = clock.now() + leaveMs;
  for (const { name, uuid } of removed) {
    const isUsed = (): boolean => users(network.state.get(), uuid).length > 0;
    await until(() => !isUsed(), end, { network, clock }, signal);
    if (isUsed()) return temporary(`${name} was removed and is still in use after ${leaveMs / 1000} s`);
  }
  return undefined;
}

/** A changed profile that is in use takes effect with a new activation. */
async function activated(
  risky: readonly NetworkStep[],
  before: NetworkState,
  { network, clock }: ProofParts,
  signal: AbortSignal,
): Promise<ChangeProblem | undefined> {
  for (const { uuid, name } of risky.filter((step) => step.do === 'changeNetwork')) {
    for (const device of users(before, uuid)) {
      const result = await within(joinMs, { what: `joining ${name}`, clock, signal }, (over) =>
        network.join(uuid, device.interface, over),
      );
      if (!result.ok)
        return {
          reason: `${name} could not be joined: ${result.reason}`,
          isRefused: refusals.has(result.reason),
        };
    }
  }
  return undefined;
}

/** Ends when each new wired link is up, or cannot be: what does not come up takes no route. */
async function broughtUp(
  risky: readonly NetworkStep[],
  networks: readonly AdditionalNetwork[],
  before: NetworkState,
  { network, clock }: ProofParts,
  signal: AbortSignal,
): Promise<void> {
  for (const step of risky) {
    const device = freeInterface(step, networks, before);
    const { profiles } = network.state.get();
    const uuid = profiles.find(({ mark }) => mark?.kind === 'additional' && mark.name === step.name)?.uuid;
    if (device === undefined || uuid === undefined) continue;
    const join = (over: AbortSignal): Promise<JoinResult> => network.join(uuid, device, over);
    await within(joinMs, { what: `joining ${step.name}`, clock, signal }, join).catch(() => undefined);
  }
}

/** The network itself answered, and with a refusal. */
const refusals: ReadonlySet<string> = new Set(['wrong-password']);

/** Requests in a row over links that do not change meanwhile. */
async function hasContact({ network, contact, clock }: ProofParts, signal: AbortSignal): Promise<boolean> {
  const end = clock.now() + contactMs;
  let count = 0;
  let links = '';
  while (!signal.aborted && clock.now() < end) {
    // Also the first one waits: what goes down may still carry it.
    await clock.sleep(contactEveryMs, signal);
    const now = linksText(network.state.get());
    if (now !== links) count = 0;
    links = now;
    const isAnswered = await contact(signal).catch(() => false);
    count = isAnswered && linksText(network.state.get()) === links ? count + 1 : 0;
    if (count >= neededContacts) return true;
  }
  return false;
}

const linksText = ({ devices }: NetworkState): string =>
  JSON.stringify(devices.flatMap((one) => (one.profile === '' ? [] : [[one.interface, one.profile, one.state]])));

/** After a rollback: until the links of before are up again, or a limit. */
export async function untilBack(before: NetworkState, parts: ProofParts, signal: AbortSignal): Promise<void> {
  const { network, clock } = parts;
  const up = ({ devices }: NetworkState): readonly string[] =>
    devices.flatMap((one) => (one.state === 'connected' && !one.isHotspot ? [one.profile] : []));
  const wanted = up(before);
  const isBack = (): boolean => wanted.every((uuid) => up(network.state.get()).includes(uuid));
  await until(isBack, clock.now() + returnMs, parts, signal);
}

async function until(
  holds: () => boolean,
  end: number,
  { network, clock }: Pick<ProofParts, 'network' | 'clock'>,
  signal: AbortSignal,
): Promise<void> {
  while (!holds() && !signal.aborted && clock.now() < end)
    await changedOr(network.state, end - clock.now(), clock, signal);
}
