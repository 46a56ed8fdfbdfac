// What a configuration may say, but seldom means. The server shows it when a user saves; a device acts on it as written.
import { joined } from './reading.ts';
import { type Json, isObject } from '../text/json-object.ts';
import type { Problem } from './problem.ts';

/** Keys of the top level that stand inside `agent`, where nothing reads them. */
export const misplaced = (path: string, key: string): Problem => ({
  path,
  message: 'has no effect inside "agent".',
  remedy: `Write ${key} at the top level of the configuration, beside "agent".`,
  severity: 'warning',
});

/** Sections of `agent` that stand at the top level. */
export const outsideAgent = (key: string): Problem => ({
  path: key,
  message: 'has no effect at the top level.',
  remedy: `Write ${key} inside "agent": {"agent": {"${key}": …}}.`,
  severity: 'warning',
});

/** One of these zones is ahead of or behind UTC by whole hours, with the sign of POSIX: the opposite of the usual one. */
const reversed = /^(?:Etc\/)?GMT([+-])([1-9]\d?)$/i;

/** @param path - of the window. */
export function zoneNote({ time_zone: zone }: Json, path: string): Problem[] {
  const [, sign, hours] = (typeof zone === 'string' && reversed.exec(zone)) || [];
  if (sign === undefined) return [];
  const [actual, opposite] = sign === '+' ? ['−', '-'] : ['+', '+'];
  return [
    {
      path: joined(path, 'time_zone'),
      message: `means UTC${actual}${hours}: zones of this form have the opposite sign.`,
      remedy: `Write Etc/GMT${opposite}${hours} if you mean UTC${sign === '+' ? '+' : '−'}${hours}, or better a place such as Europe/Berlin.`,
      severity: 'note',
    },
  ];
}

const addressOf = (network: Json): string | undefined => {
  const given = network['ipv4_address'];
  return typeof given === 'string' && /^[\d.]+\/\d+$/.test(given) ? given : undefined;
};

/** Two networks that can be in use at once: of two kinds, or on two interfaces. */
const areApart = (one: Json, other: Json): boolean => {
  const [here, there] = [one['interface'] ?? '', other['interface'] ?? ''];
  return one['type'] !== other['type'] || (here !== there && here !== '' && there !== '');
};

const hotspotSubnet = '10.42.0.0/24';

/**
 * Fixed addresses that collide: with another network of the list, or with the hotspot.
 *
 * @param pathOf - path of a network as the user wrote it.
 */
export function addressRemarks(networks: readonly unknown[], pathOf: (index: number) => string): Problem[] {
  return networks.flatMap((network, index): Problem[] => {
    const address = isObject(network) ? addressOf(network) : undefined;
    if (!isObject(network) || address === undefined) return [];
    const path = joined(pathOf(index), 'ipv4_address');
    const host = address.split('/')[0];
    const twin = networks
      .slice(0, index)
      .findIndex((one) => isObject(one) && addressOf(one)?.split('/')[0] === host && areApart(one, network));
    if (twin >= 0)
      return [
        {
          path,
          message: `is also the address of ${pathOf(twin)}: while both are connected, answers can take the wrong one.`,
          remedy: 'Give each interface an address of its own.',
          severity: 'warning',
        },
      ];
    if (host?.startsWith('10.42.0.') !== true) return [];
    return [
      {
        path,
        message: `is in ${hotspotSubnet}, the first choice of the hotspot: while this network is not connected, the hotspot uses that subnet, too.`,
        remedy: 'Choose another subnet, if you can.',
        severity: 'note',
      },
    ];
  });
}

/** Numbers beyond what programs can hold. The text keeps them, but readers get infinity, or null. */
export function hugeNumbers(json: unknown): Problem[] {
  const problems: Problem[] = [];
  // Not recursive: users may nest values deeper than a call stack.
  const open: (readonly [value: unknown, path: string])[] = [[json, '']];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [value, path] = next;
    if (Array.isArray(value)) value.forEach((one: unknown, index) => open.push([one, joined(path, index)]));
    else if (isObject(value)) for (const [key, one] of Object.entries(value)) open.push([one, joined(path, key)]);
    else if (value === Infinity || value === -Infinity) problems.push(huge(path));
  }
  return problems.toReversed();
}

const huge = (path: string): Problem => ({
  path,
  message: 'is beyond the largest number that programs can hold, about 1.8e308.',
  remedy: 'Write a smaller number.',
  severity: 'warning',
});
