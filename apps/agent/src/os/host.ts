import { existsSync, readFileSync, readlinkSync } from 'node:fs';
import os from 'node:os';
import type { Host } from './ports.ts';
import { machineBootId } from './boot-id.ts';

const architectures: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };
const systems: Readonly<Record<string, string>> = { win32: 'windows' };

export function thisHost(): Host {
  return {
    hostname,
    platform: `${systems[process.platform] ?? process.platform}/${architectures[process.arch] ?? process.arch}`,
    distro,
    tags: ['platform-agent', ...boardTags()],
    bootId: machineBootId(),
    timeZone,
    isSupervisedBySystemd: isOwnUnit(),
    abilities: { managesNetworks: false, managesSystem: false },
  };
}

/** The current name: it may be changed while the agent runs. */
function hostname(): string {
  if (process.platform !== 'linux') return os.hostname();
  try {
    return readFileSync('/proc/sys/kernel/hostname', 'utf8').trim();
  } catch {
    return os.hostname();
  }
}

/**
 * The current setting of the system. The runtime reads it only at its start, so on Linux the link that holds it is read.
 */
function timeZone(): string {
  const fallback = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (process.platform !== 'linux' || (process.env['TZ'] ?? '') !== '') return fallback();
  try {
    const zone = /\/zoneinfo\/(?:posix\/|right\/)?(.+)$/.exec(readlinkSync('/etc/localtime'))?.[1];
    return zone === undefined || !Intl.supportedValuesOf('timeZone').includes(zone) ? fallback() : zone;
  } catch {
    return fallback();
  }
}

/** Whether this process runs in the agent's own systemd unit, and not in the unit of another service. */
function isOwnUnit(): boolean {
  try {
    const group = readFileSync('/proc/self/cgroup', 'utf8');
    return existsSync('/run/systemd/system') && /\/platform-agent\.service$/m.test(group);
  } catch {
    return false;
  }
}

/** ID:VERSION_ID of os-release, as the management server expects it. */
function distro(): string {
  try {
    const text = readFileSync('/etc/os-release', 'utf8');
    const value = (key: string) => new RegExp(`^${key}="?([^"\n]*)"?$`, 'm').exec(text)?.[1];
    const id = value('ID');
    return id === undefined ? '' : `${id}:${value('VERSION_ID') ?? 'unknown'}`;
  } catch {
    return '';
  }
}

function boardTags(): string[] {
  try {
    const model = /Raspberry Pi (\d+)?/.exec(readFileSync('/proc/device-tree/model', 'utf8'));
    return model ? ['rpi', ...(model[1] === undefined ? [] : [`rpi${model[1]}`])] : [];
  } catch {
    return [];
  }
}
