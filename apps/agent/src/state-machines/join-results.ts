/** What the operating system knows of the path to the internet; `portal`: a captive portal of another network. */
export type Connectivity = 'unknown' | 'none' | 'portal' | 'limited' | 'full';

export type JoinFailure =
  | 'wrong-password'
  | 'not-found'
  | 'no-address'
  | 'refused-by-authentication-server'
  | 'authentication-server-not-trusted'
  | 'client-certificate-refused'
  | 'address-in-use'
  | 'timed-out'
  | 'device-gone'
  | 'failed';

/** `portal`: connected, but another captive portal wants something; `no-internet`, `no-cloud`: connected, but no more;
 * `ipv6-only`: connected without IPv4, and no internet. */
export type AttemptResult =
  | 'ok'
  | 'trying'
  | 'portal'
  | 'no-internet'
  | 'ipv6-only'
  | 'unchecked'
  | 'no-cloud'
  | JoinFailure;
