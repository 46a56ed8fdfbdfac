// Rules across the fields of one additional network, as pure functions.
import type { Breach } from './breach.ts';
import type { AdditionalNetwork } from '../gen/agent-config.gen.ts';

type AddressFields = Pick<AdditionalNetwork, 'ipv4_address' | 'ipv4_gateway'>;

const number = (address: string): number => address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);

const error = (key: string, message: string, remedy: string): Breach => ({ key, message, remedy, isError: true });
const warning = (key: string, message: string, remedy: string): Breach => ({ key, message, remedy, isError: false });

/** A fixed address that no network accepts, or a gateway that it cannot reach. Both fields have their form already. */
export function addressBreaches({ ipv4_address, ipv4_gateway }: AddressFields): Breach[] {
  const [address = '', bits] = ipv4_address.split('/');
  if (bits === undefined)
    return ipv4_gateway === ''
      ? []
      : [
          warning(
            'ipv4_gateway',
            'is not used while ipv4_address is "auto".',
            'Remove the key, or write a fixed ipv4_address.',
          ),
        ];
  const size = 2 ** (32 - Number(bits));
  const own = number(address);
  const first = own - (own % size);
  if (size > 2 && (own === first || own === first + size - 1))
    return [
      error(
        'ipv4_address',
        `must be the address of a device: ${ipv4_address} is the ${own === first ? 'network itself' : 'broadcast address'}.`,
        'Write another address of the same subnet.',
      ),
    ];
  if (ipv4_gateway === '') return [];
  const gateway = number(ipv4_gateway);
  if (gateway === own)
    return [error('ipv4_gateway', `must differ from ipv4_address (${address}).`, 'Write the address of the router.')];
  // A point-to-point link has no subnet: any gateway is reached through it.
  if (Number(bits) < 32 && (gateway < first || gateway >= first + size))
    return [
      error(
        'ipv4_gateway',
        `must be in the subnet of ipv4_address, not ${ipv4_gateway}: ${ipv4_address} reaches ${dotted(first)} to ${dotted(first + size - 1)}.`,
        'Write the address of the router in this subnet, or correct the prefix length.',
      ),
    ];
  return [];
}

const dotted = (address: number): string =>
  [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join('.');

const eapFields = [
  'eap_inner_method',
  'eap_identity',
  'eap_anonymous_identity',
  'eap_password',
  'eap_ca_certificate',
  'eap_server_name',
  'eap_client_certificate',
  'eap_client_key',
  'eap_client_key_password',
] as const;

type EapFields = Pick<AdditionalNetwork, (typeof eapFields)[number] | 'eap_method' | 'psk'>;

/** WPA2-enterprise: what its method needs, and a password that belongs to another kind of network. */
export function eapBreaches(network: EapFields): Breach[] {
  const { eap_method: method } = network;
  const first = eapFields.find((key) => network[key] !== '');
  if (method === '')
    return first === undefined
      ? []
      : [
          error(
            'eap_method',
            `must be given, because ${first} is: without it the network would be joined without that protection.`,
            'Write "peap", "ttls" or "tls", or remove the eap_ fields.',
          ),
        ];
  if (network.psk !== '')
    return [
      error(
        'psk',
        'must be empty for a network with eap_method: WPA2-enterprise has no common password.',
        'Remove psk, or remove the eap_ fields.',
      ),
    ];
  const needed =
    method === 'tls'
      ? (['eap_identity', 'eap_client_certificate', 'eap_client_key'] as const)
      : (['eap_identity', 'eap_password'] as const);
  const missing = needed
    .filter((key) => network[key] === '')
    .map((key) => error(key, `is required with eap_method "${method}".`, 'Write it, or choose another eap_method.'));
  return [...missing, ...innerBreaches(network), ...trustBreaches(network)];
}

const innerMethods = {
  peap: ['mschapv2', 'gtc'],
  ttls: ['mschapv2', 'gtc', 'pap', 'chap', 'mschap'],
  tls: [],
} as const;

function innerBreaches({ eap_method: method, eap_inner_method: inner }: EapFields): Breach[] {
  const possible: readonly string[] = method === '' ? [] : innerMethods[method];
  if (inner === '' || possible.includes(inner)) return [];
  const remedy = method === 'tls' ? 'Remove eap_inner_method.' : `Write one of ${possible.join(', ')}.`;
  return [error('eap_inner_method', `${inner} is not possible with eap_method "${method}".`, remedy)];
}

function trustBreaches({ eap_ca_certificate: authority, eap_server_name: server }: EapFields): Breach[] {
  if (authority !== '' || server !== '') return [];
  return [
    warning(
      'eap_server_name',
      'is empty, and so is eap_ca_certificate: any server with a certificate of a public authority is trusted with the password.',
      'Write the name in the certificate of the authentication server, or the authority that issued it.',
    ),
  ];
}
