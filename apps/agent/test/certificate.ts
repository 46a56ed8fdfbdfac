import { issue } from '@platform/kit/testing';

/** Creates a self-signed certificate for localhost and 127.0.0.1; dates in ms since 1970. */
export const certificate = (from: number, to: number): { key: string; cert: string } =>
  issue({ from, to, dns: ['localhost'], ips: ['127.0.0.1'], authority: true });
