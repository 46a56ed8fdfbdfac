import { createHash } from 'node:crypto';
import type { NetworkState, NewProfile, SavedProfile } from '../../os/network-port.ts';
import type { AdditionalNetwork } from '../settings/network-settings.ts';

/** Steps are logged: they carry names only, never a password. */
export type NetworkStep =
  | { do: 'addNetwork'; name: string }
  | { do: 'changeNetwork'; name: string; uuid: string }
  | { do: 'removeNetwork'; name: string; uuid: string };

const wiredMetric = 100;
const wifiMetric = 600;

/** @param isAutoconnect - of a profile that is there already; the mode decides it later. */
export function profileOf(
  additional_networks: AdditionalNetwork,
  isAutoconnect = additional_networks.type === 'wired',
): NewProfile {
  const { name, type, ipv4_address: address } = additional_networks;
  const isStatic = address !== 'auto' && address !== '';
  return {
    name: `platform ${name}`,
    type,
    interface: additional_networks.interface,
    priority: additional_networks.priority,
    isAutoconnect,
    mark: { kind: 'additional', name, digest: digestOf(additional_networks) },
    ...(type === 'wifi' && {
      wifi: {
        ssid: additional_networks.ssid,
        isHidden: additional_networks.hidden,
        security: securityOf(additional_networks),
      },
    }),
    ...(isStatic && { ipv4: { address, gateway: additional_networks.ipv4_gateway } }),
    dns: additional_networks.ipv4_dns,
    routeMetric: additional_networks.ipv4_route_metric || (type === 'wired' ? wiredMetric : wifiMetric),
  };
}

function securityOf(additional_networks: AdditionalNetwork): NonNullable<NewProfile['wifi']>['security'] {
  const { psk, eap_method: method } = additional_networks;
  if (method === '') return psk === '' ? { is: 'open' } : { is: 'psk', psk };
  return {
    is: 'eap',
    eap: {
      method,
      innerMethod: additional_networks.eap_inner_method || 'mschapv2',
      identity: additional_networks.eap_identity,
      anonymousIdentity: additional_networks.eap_anonymous_identity,
      password: additional_networks.eap_password,
      authority: additional_networks.eap_ca_certificate,
      serverName: additional_networks.eap_server_name,
      clientCertificate: additional_networks.eap_client_certificate,
      clientKey: additional_networks.eap_client_key,
      clientKeyPassword: additional_networks.eap_client_key_password,
    },
  };
}

/** Names one configuration of one network; stored in the mark of its profile. */
export const digestOf = (network: AdditionalNetwork): string => hashOf(network).slice(0, 16);

/** Names one configuration of all networks. */
export const digestOfAll = (networks: readonly AdditionalNetwork[]): string => hashOf(networks);

const hashOf = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('hex');

/** Adds first and removes last: a machine that changes networks is never without one. */
export function planNetworks(
  networks: readonly AdditionalNetwork[],
  { profiles }: Pick<NetworkState, 'profiles'>,
): readonly NetworkStep[] {
  const own = new Map<string, SavedProfile>();
  const surplus: SavedProfile[] = [];
  for (const profile of profiles) {
    if (profile.mark?.kind !== 'additional') continue;
    const { name } = profile.mark;
    if (own.has(name) || !networks.some((network) => network.name === name)) surplus.push(profile);
    else own.set(name, profile);
  }
  const steps = networks.flatMap((network): NetworkStep[] => {
    const { name } = network;
    const found = own.get(name);
    if (!found) return [{ do: 'addNetwork', name }];
    const isSame = found.mark?.kind === 'additional' && found.mark.digest === digestOf(network);
    return isSame ? [] : [{ do: 'changeNetwork', name, uuid: found.uuid }];
  });
  return [
    ...steps,
    ...surplus.map(({ uuid, mark }): NetworkStep => ({
      do: 'removeNetwork',
      name: mark?.kind === 'additional' ? mark.name : '',
      uuid,
    })),
  ];
}
