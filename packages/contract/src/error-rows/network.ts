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
    remedy: 'Correct the networks in the configuration. The agent tries again when additional_networks changes.',
  },
} as const satisfies Record<string, ErrorRow>;
