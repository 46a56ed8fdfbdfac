// What the kernel recorded about the end of the boot before this one.
import { open, readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import type { ResetCause } from '../../ports.ts';

/** Where the kernel leaves its last messages, and where systemd-pstore moves them at the next start. */
const messageFolders = ['/sys/fs/pstore', '/var/lib/systemd/pstore'];
const mostFiles = 200;
const mostBytes = 256 * 1024;
/** WDIOF_CARDRESET of linux/watchdog.h: the watchdog has reset the machine. */
const resetByWatchdog = 0x20;

/**
 * Why the machine was reset; undefined: nothing was recorded, as after a loss of power.
 *
 * @param since - start of the last run in the boot before, ms since 1970: older messages are of older boots.
 * @param prefix - empty, or a folder with files as of another machine.
 */
export async function linuxResetCause(since: number, prefix = ''): Promise<ResetCause | undefined> {
  for (const folder of messageFolders) if (await hasPanic(`${prefix}${folder}`, since)) return 'kernel-panic';
  return (await isWatchdogReset(`${prefix}/sys/class/watchdog`)) ? 'watchdog' : undefined;
}

async function hasPanic(folder: string, since: number): Promise<boolean> {
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  for (const name of names.filter((one) => path.basename(one).startsWith('dmesg')).slice(-mostFiles)) {
    const file = path.join(folder, name);
    const found = await stat(file).catch(() => undefined);
    if (!found?.isFile() || found.mtimeMs <= since) continue;
    if (/Panic#\d|Kernel panic/.test(await beginning(file))) return true;
  }
  return false;
}

async function beginning(file: string): Promise<string> {
  const handle = await open(file).catch(() => undefined);
  if (!handle) return '';
  try {
    const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(mostBytes) });
    return buffer.toString('latin1', 0, bytesRead);
  } catch {
    return '';
  } finally {
    await handle.close();
  }
}

async function isWatchdogReset(folder: string): Promise<boolean> {
  for (const name of await readdir(folder).catch(() => [])) {
    const text = await readFile(path.join(folder, name, 'bootstatus'), 'utf8').catch(() => '');
    if ((Number(text.trim()) & resetByWatchdog) !== 0) return true;
  }
  return false;
}
