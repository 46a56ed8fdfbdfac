import type { Head } from './http-head.ts';

// Operating systems ask a known name for a known answer as soon as they join a network. Every name leads to this device,
// so the request arrives here. Any other answer than the known one makes them show a sign-in page. A redirect is the
// answer that all of them follow, and the only one that takes the browser to the address of the portal, which its cookies
// and its Origin header then name.

/** Hosts and paths of these requests, for the tests: the host alone decides. */
export const probes: readonly { by: string; host: string; path: string }[] = [
  { by: 'Android', host: 'connectivitycheck.gstatic.com', path: '/generate_204' },
  { by: 'Android', host: 'www.google.com', path: '/gen_204' },
  { by: 'iOS, macOS', host: 'captive.apple.com', path: '/hotspot-detect.html' },
  { by: 'iOS, macOS', host: 'www.apple.com', path: '/library/test/success.html' },
  { by: 'Windows', host: 'www.msftconnecttest.com', path: '/connecttest.txt' },
  { by: 'Windows', host: 'www.msftconnecttest.com', path: '/redirect' },
  { by: 'Windows', host: 'www.msftncsi.com', path: '/ncsi.txt' },
  { by: 'Firefox', host: 'detectportal.firefox.com', path: '/canonical.html' },
  { by: 'Firefox', host: 'detectportal.firefox.com', path: '/success.txt?ipv4' },
  { by: 'NetworkManager', host: 'network-test.debian.org', path: '/nm' },
  { by: 'NetworkManager', host: 'connectivity-check.ubuntu.com', path: '/' },
  { by: 'NetworkManager', host: 'nmcheck.gnome.org', path: '/check_network_status.txt' },
  { by: 'a user', host: 'device.setup', path: '/' },
];

/** Whether the request names the portal by its address. Another name may be one that a web page made point here. */
export const isForPortal = ({ host }: Pick<Head, 'host'>, address: string, port: number): boolean =>
  host === authorityOf(address, port) || host === `${address}:${port}`;

export const authorityOf = (address: string, port: number): string => (port === 80 ? address : `${address}:${port}`);
