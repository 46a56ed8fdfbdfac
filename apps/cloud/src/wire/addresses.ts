import net from 'node:net';
import { invalidArgument } from '../rpc/rules/invalid-argument.ts';

/** Whether an address belongs to a trusted proxy. The server believes its `x-forwarded-…` headers. */
export type TrustedProxies = (address: string | undefined) => boolean;

/**
 * @param list - addresses and networks: `10.0.0.1, 10.1.0.0/16, ::1`.
 * @throws PlatformError INVALID_ARGUMENT
 */
export function trustedProxies(list: string | undefined): TrustedProxies {
  const names = (list ?? '').split(',').map((name) => name.trim());
  const block = new net.BlockList();
  for (const name of names.filter((one) => one !== '')) {
    const [address = '', prefix] = name.split('/');
    const family = net.isIP(address) === 6 ? 'ipv6' : 'ipv4';
    const bits = Number(prefix ?? (family === 'ipv6' ? 128 : 32));
    if (net.isIP(address) === 0 || !Number.isInteger(bits) || bits < 0 || bits > (family === 'ipv6' ? 128 : 32))
      throw invalidArgument('--trusted-proxy', name, 'addresses and networks, for example 10.0.0.1,10.1.0.0/16');
    block.addSubnet(address, bits, family);
  }
  const isNone = names.every((name) => name === '');
  return (address) => {
    if (isNone || address === undefined) return false;
    const plain = unmapped(address);
    return block.check(plain, net.isIP(plain) === 6 ? 'ipv6' : 'ipv4');
  };
}

/** IP address of the client: behind trusted proxies, the last forwarded address that is not a trusted proxy. */
export function clientAddress(peer: string, forwardedFor: string | undefined, isTrusted: TrustedProxies): string {
  if (!isTrusted(peer)) return peer;
  const named = (forwardedFor ?? '').split(',').map((one) => one.trim());
  for (const address of named.toReversed()) {
    if (net.isIP(address) === 0) return peer;
    if (!isTrusted(address)) return address;
  }
  return peer;
}

const unmapped = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/, '');

/** Sizes of the IPv6 networks that are limited together: a link, a home, a site. */
const prefixes = [64, 56, 48] as const;

/**
 * Keys of the limits of an address, narrowest first: an IPv4 address, or the /64, /56 and /48 networks of an IPv6 host.
 * A home has the 256 networks of a /56, so a limit for each /64 alone would be 256 limits.
 */
export function networksOf(address: string): readonly string[] {
  const plain = unmapped(address);
  if (net.isIP(plain) !== 6) return [plain];
  const [head = '', tail] = plain.split('%')[0]?.split('::') ?? [];
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  // A dotted IPv4 ending fills two of the eight groups.
  const groups = left.length + right.length + (plain.includes('.') ? 1 : 0);
  const all = tail === undefined ? left : [...left, ...Array.from({ length: 8 - groups }, () => '0'), ...right];
  const numbers = all.slice(0, 4).map((group) => Number.parseInt(group, 16));
  return prefixes.map((bits) => {
    const kept = numbers.slice(0, Math.ceil(bits / 16));
    if (bits % 16 !== 0) kept[kept.length - 1] = (kept.at(-1) ?? 0) & 0xff00;
    return `${kept.map((group) => group.toString(16)).join(':')}::/${bits}`;
  });
}

/** The narrowest network of an address: an IPv4 address, or the /64 network of an IPv6 host. */
export const addressGroup = (address: string): string => networksOf(address)[0] ?? address;

/** Proxies of this host connect from here: a limit for such an address would be one for all of their clients. */
export const isLoopbackAddress = (address: string): boolean => {
  const plain = unmapped(address);
  return plain === '127.0.0.1' || plain === '::1';
};
