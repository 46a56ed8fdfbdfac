/** An IPv4 network, as numbers. */
interface Range {
  first: number;
  last: number;
}

const numberOf = (address: string): number => address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
const textOf = (address: number): string => [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join('.');

/** Undefined for IPv6 and for a default route, which covers every address. */
function rangeOf(cidr: string): Range | undefined {
  const [, address, prefixText = '32'] = /^(\d+\.\d+\.\d+\.\d+)(?:\/(\d+))?$/.exec(cidr) ?? [];
  const prefix = Number(prefixText);
  if (address === undefined || prefix === 0) return undefined;
  const size = 2 ** (32 - prefix);
  const first = Math.floor(numberOf(address) / size) * size;
  return { first, last: first + size - 1 };
}

const prefix = 24;
const size = 256;
/** NetworkManager's own choice first, then the rest of its range, then the other private ranges. */
const candidates: readonly [first: string, count: number][] = [
  ['10.42.0.0', 256],
  ['192.168.200.0', 50],
  ['172.30.0.0', 256],
];

/**
 * The first subnet for the hotspot that overlaps none of these networks.
 *
 * @param taken - addresses and routes of this machine in CIDR form
 * @returns the address of the device in it
 */
export function freeSubnet(taken: readonly string[]): { address: string; prefix: number } {
  const ranges = taken.flatMap((cidr) => rangeOf(cidr) ?? []);
  for (const [first, count] of candidates) {
    for (let n = 0; n < count; n++) {
      const start = numberOf(first) + n * size;
      if (ranges.every((range) => range.last < start || range.first >= start + size))
        return { address: textOf(start + 1), prefix };
    }
  }
  return { address: '10.42.0.1', prefix };
}

/** The routes of /proc/net/route in CIDR form, without the default route and those of an interface. */
export function routesOf(table: string, except: string): string[] {
  return table
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const [name, destination = '', , , , , , mask = ''] = line.split('\t');
      if (name === except) return [];
      if (!/^[0-9A-F]{8}$/i.test(destination) || !/^[0-9A-F]{8}$/i.test(mask)) return [];
      const ones = Number.parseInt(mask, 16).toString(2).replaceAll('0', '').length;
      const bytes = Buffer.from(destination, 'hex').toReversed();
      return ones === 0 ? [] : [`${[...bytes].join('.')}/${ones}`];
    });
}
