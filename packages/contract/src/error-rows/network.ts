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
} as const satisfies Record<string, ErrorRow>;
