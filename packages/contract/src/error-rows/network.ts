import type { ErrorRow } from '../error-row.ts';

/** The network of a machine: WiFi, cables, hotspot, provisioning. */
export const networkErrors = {
  NETWORK_FALLBACK: {
    rpc: 'unavailable',
    retry: 'later',
    message:
      'The machine is online only by {network}, a network of lower priority than another configured one[. Last failure: {failed}, {reason}].',
    remedy:
      'Check the networks of higher priority: signal, password, router. The agent keeps trying them; this condition clears five minutes after one works.',
  },
  NETWORK_NOT_APPLIED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The network {network} is not applied: {reason}.',
    remedy:
      'Install NetworkManager 1.30 or newer on the machine; the agent uses it without a restart. Or remove the network from the configuration.',
  },
  NETWORK_CHANGE_ROLLED_BACK: {
    rpc: 'aborted',
    retry: 'never',
    message: 'A change of additional_networks was rolled back: {reason}. The networks before are in use.',
    remedy: 'Correct the networks in the configuration if they are wrong.[ {retry}]',
  },
  NETWORK_CERTIFICATE_UNUSABLE: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The network {network} is not used: {reason}.',
    remedy: 'Correct the certificate or key of this network in the configuration. The other networks are used.',
  },
  NETWORK_CERTIFICATE_EXPIRED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The network {network} probably cannot be joined: the certificate in {field} expired on {day}.',
    remedy:
      'Renew the certificate, and write it into the configuration. The agent still tries the network, because its clock may be wrong.',
  },
  WIFI_COUNTRY_NOT_APPLIED: {
    rpc: 'failed_precondition',
    retry: 'later',
    message: 'The radio does not obey the rules of {country} (wifi_country): {reason}.',
    remedy:
      'Check the country code, and install the package wireless-regdb on the machine. A radio whose firmware decides, and an access point that announces another country, cannot be overruled: then remove wifi_country.',
  },
} as const satisfies Record<string, ErrorRow>;
