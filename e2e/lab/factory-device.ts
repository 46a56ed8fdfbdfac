// A device as it leaves the factory: the agent is installed, it has no credentials and knows no network.
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { OnlineState, type Machine } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { tempFolder } from '@platform/kit/testing';
import { systemClock } from '@platform/kit/node';
import type { Validity } from './authority.ts';
import { build } from './builds.ts';
import { telling } from './installed.ts';
import { eventually, type ForwardedPort, virtualMachine, type VirtualMachine } from './machine.ts';
import { openPortal, type PortalPage, submit } from './portal-page.ts';
import { home, type Phone, untilJoined, untilSeen, type World, worldOf } from './radio.ts';
import { type NewMachine, type Site, startSite } from './site.ts';

export interface FactoryDevice extends AsyncDisposable {
  readonly site: Site;
  readonly machine: VirtualMachine;
  readonly world: World;
  readonly phone: Phone;
  /**
   * Restores the state before the first start, and starts the agent.
   * @param network - further fields of `network_configuration` in the manufacturer's defaults
   */
  reset(network?: object): Promise<void>;
  /** Restores a device without credentials whose hotspot the phone has joined. */
  atHotspot(): Promise<void>;
  /** Saves this moment for `atHotspot`, which otherwise makes it. */
  saveAtHotspot(): Promise<void>;
}

export const hotspot = { ssid: 'platform-setup-testdev', password: 'platformsetup', address: '10.42.0.1' } as const;

/** Short minutes: the lab waits in real time. */
const manufacturersDefaults = {
  network_configuration: {
    manufacturer: 'Barn Works',
    model: 'Gate 3',
    offline_before_starting_hotspot_minutes: 1,
    retry_connection_timeout_minutes: 1,
    user_idle_minutes: 1,
  },
  advanced_settings: { disable_platform_server: true },
};

const defaultsText = (network: object): string => {
  const network_configuration = { ...manufacturersDefaults.network_configuration, ...network };
  return JSON.stringify({ ...manufacturersDefaults, network_configuration }, null, 2);
};

/**
 * @param validity - of the server's certificate; absent: decades
 * @param forwarded - a port of this host that leads to a port of the home router (see `relay` in radio.ts)
 */
export async function factoryDevice({
  validity,
  forwarded,
}: { validity?: Validity; forwarded?: ForwardedPort } = {}): Promise<FactoryDevice> {
  const site = await startSite({ ...(validity && { validity }) });
  const agent = await build('platform-agent', '0.1.0');
  const machine = await virtualMachine(site.port, { hasRadios: true, ...(forwarded && { forwarded }) });
  await pushText(machine, '/etc/platform-defaults.json', defaultsText({}));
  await machine.push('/root', agent.file);
  const file = `/root/${path.basename(agent.file)}`;
  await machine.must(
    `chmod +x ${file} && ${file} install --offline --no-credentials --no-start && rm ${file} && sync`,
    600,
  );
  await machine.save('factory');
  const world = worldOf(machine);
  const { phone } = world;
  const reset = async (network?: object): Promise<void> => {
    await machine.load('factory');
    if (network) await pushText(machine, '/etc/platform-defaults.json', defaultsText(network));
    await machine.must('systemctl start --no-block platform-agent', 120);
  };
  let isSaved = false;
  const saveAtHotspot = async (): Promise<void> => {
    await machine.save('hotspot');
    isSaved = true;
  };
  return {
    site,
    machine,
    world,
    phone,
    reset,
    saveAtHotspot,
    atHotspot: async () => {
      if (isSaved) return machine.load('hotspot');
      await reset();
      await joinHotspot({ phone });
      await saveAtHotspot();
    },
    async [Symbol.asyncDispose]() {
      await machine[Symbol.asyncDispose]();
      await site[Symbol.asyncDispose]();
    },
  };
}

/** Writes a file on the machine. */
export async function pushText(machine: VirtualMachine, file: string, text: string): Promise<void> {
  await using folder = await tempFolder();
  await mkdir(path.dirname(folder.file('x')), { recursive: true });
  await writeFile(folder.file(path.basename(file)), text);
  await machine.push(path.dirname(file), folder.file(path.basename(file)));
}

/** The phone joins the hotspot as soon as it is there. */
export const joinHotspot = async ({ phone }: Pick<FactoryDevice, 'phone'>, seconds = 300): Promise<void> => {
  await untilSeen(phone, hotspot.ssid, seconds);
  await untilJoined(phone, hotspot.ssid, hotspot.password, 180);
};

/** The phone joins the hotspot whenever it is there, until its page says this. */
export const untilPage = async (
  { phone }: Pick<FactoryDevice, 'phone'>,
  words: RegExp,
  seconds: number,
): Promise<PortalPage> =>
  eventually(`the page says ${String(words)}`, seconds, async () => {
    const page = await openPortal(phone, 1).catch(() => undefined);
    if (page && words.test(page.text)) return page;
    if (!page) await phone.join(hotspot.ssid, hotspot.password);
    return undefined;
  });

/** Online in the app, by a contact after this moment; without a machine server. */
const isConnectedSince =
  (momentMs: number) =>
  ({ onlineState, lastSeen }: Machine): boolean =>
    onlineState === OnlineState.ONLINE && lastSeen !== undefined && timestampMs(lastSeen) > momentMs;

export const untilOnline = (device: FactoryDevice, { partId }: NewMachine, sinceMs: number, seconds = 300) =>
  device.site.until(partId, 'online', seconds, isConnectedSince(sinceMs));

/** Adds what the network manager and the agent log if `f` fails. */
export const tellingNetwork = <T>(machine: VirtualMachine, f: () => Promise<T>): Promise<T> =>
  telling(machine, async () => {
    try {
      return await f();
    } catch (error) {
      const { stdout } = await machine.exec(
        'nmcli device; nmcli -f NAME,UUID,TYPE,ACTIVE,AUTOCONNECT-PRIORITY connection; ip -br addr; journalctl -u NetworkManager -o short-monotonic --no-pager -n 60; ss -lntup',
        60,
      );
      throw new Error(`${error instanceof Error ? error.message : String(error)}\n${stdout}`, { cause: error });
    }
  });

export const nowMs = (): number => systemClock.wall();

/**
 * A device that is online, from the state before its first start: by its hotspot and the home router, or by a cable and
 * a credentials file.
 */
export async function provisioned(
  device: FactoryDevice,
  owned: NewMachine,
  { by }: { by: 'hotspot' | 'cable' },
): Promise<void> {
  const since = nowMs();
  if (by === 'cable') {
    await device.reset();
    await device.world.cable(true);
    await pushText(device.machine, '/etc/platform.json', owned.credentialsJson);
  } else {
    await device.atHotspot();
    const page = await openPortal(device.phone);
    const entered = { ssid: home.ssid, password: home.security.psk, platformconfig: owned.credentialsJson };
    await submit(device.phone, page, entered);
  }
  await untilOnline(device, owned, since);
}
