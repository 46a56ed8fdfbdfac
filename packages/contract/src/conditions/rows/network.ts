import type { ConditionRow } from '../condition-row.ts';

/** The network of a machine: WiFi, cables, hotspot. */
export const networkConditions = {
  NETWORK_FALLBACK: {
    severity: 'warning',
    message:
      'The machine is online only through {network}, which has a lower priority than another configured network[. Last failure: {failed}, {reason}].',
    cause: 'For more than a minute, no network of higher priority has worked.',
    remedy:
      'Check the networks of higher priority: signal, password, router. The agent tries each one in reach, at first every `retry_connection_timeout_minutes`, later every hour.',
    ends: 'It ends five minutes after one of them works.',
  },
  NETWORK_NOT_APPLIED: {
    severity: 'warning',
    message: 'The network {network} is not applied: {reason}.',
    cause: 'The machine has no NetworkManager, or one before 1.30. Each configured network is one condition.',
    remedy:
      'Install NetworkManager 1.30 or newer on the machine; the agent uses it without a restart. Or remove the network from the configuration.',
    ends: 'It ends when NetworkManager is ready, or the network is removed.',
  },
  NETWORK_CHANGE_ROLLED_BACK: {
    severity: 'error',
    message: 'A change of additional_networks was rolled back: {reason}. The previous networks are in use.',
    cause:
      'With the change, the management server was not reached, or a link did not leave the old network. Five tries follow at most.',
    remedy: 'Correct the networks in the configuration if they are wrong.[ {retry}]',
    ends: 'It ends when the change succeeds, or `additional_networks` changes.',
  },
  NETWORK_CERTIFICATE_UNUSABLE: {
    severity: 'error',
    message: 'The network {network} is not used: {reason}.',
    cause:
      'A certificate or key of an enterprise network is damaged, they do not belong together, or the password does not open the key.',
    remedy: 'Correct the certificate or key of this network in the configuration. The other networks are used.',
    ends: 'It ends with a configuration in which they are usable.',
  },
  NETWORK_CERTIFICATE_EXPIRED: {
    severity: 'warning',
    message: 'The network {network} probably cannot be joined: the certificate in {field} expired on {day}.',
    cause: 'A certificate of an enterprise network has expired by the clock of the machine.',
    remedy:
      'Renew the certificate, and write it into the configuration. The agent still tries the network, because its clock may be wrong.',
    ends: 'It ends with a valid certificate.',
  },
  WIFI_COUNTRY_NOT_APPLIED: {
    severity: 'warning',
    message: 'The WiFi radio does not follow the rules of {country} (wifi_country): {reason}.',
    cause:
      'The kernel has no rules for the country, the firmware of the radio decides, or an access point announces another country.',
    remedy:
      'Check the country code, and install the package wireless-regdb on the machine. A radio whose firmware decides, and an access point that announces another country, cannot be overruled: then remove wifi_country.',
    ends: 'It ends when the radio obeys; the agent checks every five minutes.',
  },
} as const satisfies Record<string, ConditionRow>;
