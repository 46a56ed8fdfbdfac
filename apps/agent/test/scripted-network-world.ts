// A scripted NetworkManager, with the agent's adapter for it and the files and rules around it.
import { type Clock } from '@platform/kit';
import type { Connectivity } from '../src/os/network-port.ts';
import type { ManagedFiles } from '../src/os/managed-files.ts';
import { type Bus, createBus } from '../src/os/linux/dbus/bus.ts';
import type { RadioChannel, RadioRules } from '../src/os/linux/kernel/radio-rules.ts';
import { hotspotForwarding } from '../src/os/linux/networkmanager/hotspot-forwarding.ts';
import { wifiCountry } from '../src/os/linux/kernel/wifi-country.ts';
import { networkManager } from '../src/os/linux/networkmanager/network-manager.ts';
import { systemClock } from '@platform/kit/node';
import { captureLog, tempFolder } from '@platform/kit/testing';
import { type NetworkWorld } from './network-contract.ts';
import { scriptedFirewall, type ScriptedFirewall } from './scripted-firewall.ts';
import { ScriptedNetworkManager } from './scripted-network-manager.ts';

/** The rules of a kernel that acts at once. */
class ScriptedRules implements RadioRules {
  now = '00';
  unknown: readonly string[] = [];
  allowed: readonly RadioChannel[] = [];
  problem = '';
  country = async (): Promise<string> => this.now;
  ownCountry = async (): Promise<string> => '';
  clients = async (): Promise<number> => 0;
  async askFor(country: string): Promise<void> {
    if (!this.unknown.includes(country)) this.now = country;
  }
  isPowerSaving = async (): Promise<boolean | undefined> => undefined;
  async channels(): Promise<readonly RadioChannel[]> {
    if (this.problem !== '') throw new Error(this.problem);
    return this.allowed;
  }
}

export interface ScriptedWorld extends NetworkWorld {
  rules: ScriptedRules;
  firewall: ScriptedFirewall;
  /** Files of NetworkManager that were removed. */
  discarded: string[];
  /** Files of NetworkManager that were restored, with their content. */
  written: string[];
  bus: Bus;
  script: ScriptedNetworkManager;
  files: Map<string, string>;
  taken: string[];
  lines: () => string;
  probed: { result: Connectivity };
}

/** Files in memory. */
const filesIn = (files: Map<string, string>): ManagedFiles => ({
  async write(file, text) {
    const isChanged = files.get(file) !== text;
    files.set(file, text);
    return isChanged;
  },
  restore: async (file) => (files.delete(file) ? 'restored' : 'not-managed'),
  written: async () => [...files.keys()],
});

/** A scripted NetworkManager with its adapter. */
export async function scripted(clock: Clock = systemClock): Promise<ScriptedWorld> {
  const folder = await tempFolder();
  const script = new ScriptedNetworkManager(folder.path);
  await script.bus.listen();
  const captured = captureLog(systemClock);
  const { log } = captured;
  const files = new Map<string, string>();
  const taken: string[] = [];
  const probed: { result: Connectivity } = { result: 'full' };
  const bus = createBus({ address: `unix:path=${script.bus.address}`, clock, log });
  const host = {
    networks: async () => taken,
    datagramHolder: async (port: number) =>
      port === 53 && script.dnsHolder !== '' ? { pid: 7, command: script.dnsHolder } : undefined,
  };
  const rules = new ScriptedRules();
  const country = wifiCountry({ root: folder.path, rules, clock });
  const firewall = await scriptedFirewall(folder.path);
  script.shares = () => firewall.share();
  const forwarding = hotspotForwarding({ root: folder.path, programs: firewall, settings: firewall.settings });
  const discarded: string[] = [];
  const written: string[] = [];
  let reads = 0;
  const keyFiles = {
    read: async (file: string) => Buffer.from(`${++reads}. of ${file}`),
    write: async (file: string, bytes: Uint8Array) => void written.push(`${file}: ${Buffer.from(bytes).toString()}`),
    remove: async (file: string) => void discarded.push(file),
  };
  const parts = { bus, clock, log, host, rules, forwarding, country, keyFiles, files: filesIn(files) };
  const network = networkManager({ ...parts, probe: async () => probed.result });
  return {
    network,
    bus,
    script,
    files,
    taken,
    probed,
    rules,
    firewall,
    discarded,
    written,
    country: () => rules.now,
    forgetCountry: (name) => void (rules.unknown = [...rules.unknown, name]),
    lines: captured.text,
    pass: () => systemClock.sleep(5),
    accessPoint: (ssid, how) => script.setAccessPoint(Buffer.from(ssid), how),
    plugCable: (isPlugged) => script.plugCable(isPlugged),
    unplugRadio: () => script.unplugRadio(),
    async setManager(to) {
      script.version = to === 'too-old' ? '1.18.0' : '1.42.4';
      script.bus.setOwned(false);
      if (to !== 'absent') script.bus.setOwned(true);
    },
    foreignProfile: (name) => script.foreignProfile(name),
    endCheckpoints: async () => script.endCheckpoints(),
    takeDnsPort: (program) => void (script.dnsHolder = program),
    async [Symbol.asyncDispose]() {
      await script[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}
