// NetworkManager shares the machine's other networks with the clients of a hotspot: it turns on forwarding for the whole
// machine and translates addresses. Here the hotspot is taken out of that again. Decision 0108.
import path from 'node:path';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { errorText, oneAtATime } from '@platform/kit';
import { atomicWrite, readJson } from '@platform/kit/node';
import type { Programs } from '../../ports.ts';

const recordFile = 'state/hotspot-forwarding.json';
const family = 'inet';
const table = 'platform-hotspot';
/** Before the chain of NetworkManager, which accepts: in nftables a packet that one chain drops is gone for all. */
const priority = -10;

/** The interface that is kept from forwarding, and what stood there before; kept until it is given back. */
interface ForwardingRecord {
  interface: string;
  before: '0' | '1';
}

export interface ForwardingCheck {
  /** Why the kernel could forward packets of the hotspot, as a clause; empty: it cannot. */
  problem: string;
  /** What another program had removed or changed, and is in place again. */
  restored: readonly string[];
}

/** Keeps packets from being forwarded from and to the interface of the hotspot, for IPv4 and IPv6. */
export interface HotspotForwarding {
  /** Call it before the hotspot is on the air. */
  block(interfaceName: string): Promise<ForwardingCheck>;
  /** Looks, and puts back what is missing. Without a blocked interface there is no problem. */
  check(): Promise<ForwardingCheck>;
  /** Everything is as before; ends what an earlier run of the agent has left, too. */
  release(): Promise<void>;
}

export interface ForwardingParts {
  /** Folder of the agent, for the record. */
  root: string;
  programs: Programs;
  /** Folder of the kernel's settings. */
  settings?: string;
}

const nothing: ForwardingCheck = { problem: '', restored: [] };
const rulesOf = (name: string): readonly string[] => [`iifname "${name}" drop`, `oifname "${name}" drop`];

/** One transaction: at no moment is there a table without its rules. */
const scriptOf = (name: string): string =>
  [
    `add table ${family} ${table}`,
    `delete table ${family} ${table}`,
    `table ${family} ${table} {`,
    'chain forward {',
    `type filter hook forward priority ${priority}; policy accept;`,
    ...rulesOf(name),
    '}',
    '}',
  ].join('\n');

/** @param listing - output of `nft list table` */
export function hasRules(listing: string, name: string): boolean {
  const lines = listing.split('\n').map((line) => line.trim());
  const head = lines.findIndex((line) => line.startsWith('type filter hook forward '));
  const end = lines.indexOf('}', head);
  return head >= 0 && JSON.stringify(lines.slice(head + 1, end)) === JSON.stringify(rulesOf(name));
}

/**
 * Two independent ways, because either can be missing: a table of nftables, and the interface's own setting of the
 * kernel, which needs no program but knows IPv4 only; the hotspot has no IPv6.
 */
export function hotspotForwarding(parts: ForwardingParts): HotspotForwarding {
  let blocked = '';
  const oneByOne = oneAtATime();
  return {
    block: (name) =>
      oneByOne(async () => {
        await giveBack(parts);
        await note(name, parts);
        blocked = name;
        return keep(name, parts);
      }),
    check: () => oneByOne(async () => (blocked === '' ? nothing : keep(blocked, parts))),
    release: () =>
      oneByOne(async () => {
        blocked = '';
        await giveBack(parts);
      }),
  };
}

async function keep(name: string, parts: ForwardingParts): Promise<ForwardingCheck> {
  const byTable = await keepTable(name, parts);
  const bySetting = await keepSetting(name, byTable.problem !== '', parts);
  const isOpen = byTable.problem !== '' && bySetting.problem !== '';
  return {
    problem: isOpen
      ? `the kernel could route its clients into the other networks of this machine (${byTable.problem}; ${bySetting.problem})`
      : '',
    restored: [...byTable.restored, ...bySetting.restored],
  };
}

async function keepTable(name: string, { programs }: ForwardingParts): Promise<ForwardingCheck> {
  const listing = await programs.run('nft', 'list', 'table', family, table);
  if (listing.code === 0 && hasRules(listing.text, name)) return nothing;
  const { code, text } = await programs.run('nft', scriptOf(name));
  if (code === 0) return { problem: '', restored: [`the table ${family} ${table} of nftables`] };
  return { problem: `nft: ${text.trim().split('\n')[0] || 'it cannot be started'}`, restored: [] };
}

const settingOf = (name: string, { settings = '/proc/sys' }: ForwardingParts): string =>
  path.join(settings, 'net/ipv4/conf', name, 'forwarding');

const read = async (file: string): Promise<string> => (await readFile(file, 'utf8')).trim();

async function keepSetting(name: string, isAlone: boolean, parts: ForwardingParts): Promise<ForwardingCheck> {
  const file = settingOf(name, parts);
  const label = `net.ipv4.conf.${name}.forwarding`;
  try {
    // NetworkManager turns this on soon, and that would reset the interface: do it first, so that no moment is open.
    const whole = path.join(parts.settings ?? '/proc/sys', 'net/ipv4/ip_forward');
    if (isAlone && (await read(whole)) === '0') await writeFile(whole, '1');
    if ((await read(file)) === '0') return nothing;
    await writeFile(file, '0');
    const isOff = (await read(file)) === '0';
    return isOff ? { problem: '', restored: [label] } : { problem: `${label} stays 1`, restored: [] };
  } catch (error) {
    return { problem: `${label}: ${errorText(error)}`, restored: [] };
  }
}

async function note(name: string, parts: ForwardingParts): Promise<void> {
  const before = await read(settingOf(name, parts)).catch(() => '');
  if (before !== '0' && before !== '1') return; // there is no such interface: nothing can be set
  const file = path.join(parts.root, recordFile);
  await mkdir(path.dirname(file), { recursive: true });
  await atomicWrite(file, `${JSON.stringify({ interface: name, before } satisfies ForwardingRecord)}\n`, {
    mode: 0o600,
  });
}

async function giveBack(parts: ForwardingParts): Promise<void> {
  const { programs, root } = parts;
  const { code } = await programs.run('nft', 'list', 'table', family, table);
  if (code === 0) await programs.run('nft', 'delete', 'table', family, table);
  const file = path.join(root, recordFile);
  const record = (await readJson(file).catch(() => undefined)) as Partial<ForwardingRecord> | undefined;
  if (!record) return;
  const { interface: name, before } = record;
  if (typeof name === 'string' && (before === '0' || before === '1'))
    await writeFile(settingOf(name, parts), before).catch(() => {}); // the radio is gone
  await rm(file, { force: true });
}
