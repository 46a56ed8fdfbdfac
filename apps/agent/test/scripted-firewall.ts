// nftables and the kernel's settings, as far as the hotspot uses them.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ProgramResult, Programs } from '../src/os/ports.ts';

export class ScriptedFirewall implements Programs {
  /** The machine has no nft. */
  isWithoutNft = false;
  /** The table as nft lists it; empty: there is none. */
  table = '';
  readonly settings: string;

  constructor(folder: string) {
    this.settings = path.join(folder, 'proc-sys');
  }

  async run(program: string, ...args: string[]): Promise<ProgramResult> {
    if (program !== 'nft' || this.isWithoutNft) return { code: -1, text: '' };
    const [verb = ''] = args;
    if (verb === 'list')
      return this.table === ''
        ? { code: 1, text: 'Error: No such file or directory' }
        : { code: 0, text: `table inet platform-hotspot {\n${this.table}}\n` };
    if (verb === 'delete') this.table = '';
    else this.table = listed(verb);
    return { code: 0, text: '' };
  }

  async setting(name: string, value?: string): Promise<string> {
    const file = path.join(this.settings, 'net/ipv4', name);
    if (value === undefined) return (await readFile(file, 'utf8')).trim();
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, value);
    return value;
  }

  /** NetworkManager turns on forwarding; the kernel passes a change on to all interfaces. */
  async share(): Promise<void> {
    if ((await this.setting('ip_forward')) === '1') return;
    await this.setting('ip_forward', '1');
    await this.setting('conf/wlan0/forwarding', '1');
  }

  /** The interface forwards packets: nothing drops them, and its setting is on. */
  async isOpen(): Promise<boolean> {
    return this.table === '' && (await this.setting('conf/wlan0/forwarding')) === '1';
  }
}

/** As `nft list table` shows what was added. */
function listed(script: string): string {
  const lines = script.split('\n');
  const rules = lines.slice(lines.indexOf('chain forward {') + 1, lines.indexOf('}'));
  return `\tchain forward {\n${rules.map((rule) => `\t\t${rule}\n`).join('')}\t}\n`;
}

export async function scriptedFirewall(folder: string): Promise<ScriptedFirewall> {
  const firewall = new ScriptedFirewall(folder);
  await firewall.setting('ip_forward', '0');
  await firewall.setting('conf/wlan0/forwarding', '0');
  return firewall;
}
