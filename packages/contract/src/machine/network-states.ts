// States of a machine's network: the agent's name, the number on the wire, and the text for users. `textOfState` of
// program-states.ts reads these tables, too.
import {
  NetworkAttemptResult,
  NetworkConnectivity,
  NetworkLinkState,
  NetworkLinkType,
  NetworkMode,
  NetworkRowState,
} from '../gen/platform/fleet/v1/fleet_pb.ts';

interface StateRow<Wire> {
  readonly wire: Wire;
  /** In the middle of a sentence. */
  readonly text: string;
}

/** What the agent does with the network. */
export const networkModes = {
  unmanaged: { wire: NetworkMode.UNMANAGED, text: 'not managed by the agent' },
  normal: { wire: NetworkMode.NORMAL, text: 'normal' },
  joining: { wire: NetworkMode.JOINING, text: 'joining a network' },
  hotspot: { wire: NetworkMode.HOTSPOT, text: 'hotspot for provisioning' },
  rebooting: { wire: NetworkMode.REBOOTING, text: 'rebooting' },
} as const satisfies Record<string, StateRow<NetworkMode>>;

/** The path to the internet. */
export const connectivities = {
  unknown: { wire: NetworkConnectivity.UNKNOWN, text: 'unknown' },
  none: { wire: NetworkConnectivity.NONE, text: 'no internet' },
  portal: { wire: NetworkConnectivity.PORTAL, text: 'a captive portal asks for a sign-in' },
  limited: { wire: NetworkConnectivity.LIMITED, text: 'limited' },
  full: { wire: NetworkConnectivity.FULL, text: 'internet' },
} as const satisfies Record<string, StateRow<NetworkConnectivity>>;

export const linkTypes = {
  wifi: { wire: NetworkLinkType.WIFI, text: 'WiFi' },
  wired: { wire: NetworkLinkType.WIRED, text: 'wired' },
  bluetooth: { wire: NetworkLinkType.BLUETOOTH, text: 'Bluetooth' },
  other: { wire: NetworkLinkType.OTHER, text: 'other' },
} as const satisfies Record<string, StateRow<NetworkLinkType>>;

export const linkStates = {
  unmanaged: { wire: NetworkLinkState.UNMANAGED, text: 'not managed' },
  unavailable: { wire: NetworkLinkState.UNAVAILABLE, text: 'no cable or radio off' },
  disconnected: { wire: NetworkLinkState.DISCONNECTED, text: 'disconnected' },
  connecting: { wire: NetworkLinkState.CONNECTING, text: 'connecting' },
  connected: { wire: NetworkLinkState.CONNECTED, text: 'connected' },
  failed: { wire: NetworkLinkState.FAILED, text: 'failed' },
} as const satisfies Record<string, StateRow<NetworkLinkState>>;

/** How an attempt to join a network ended. */
export const attemptResults = {
  ok: { wire: NetworkAttemptResult.OK, text: 'connected' },
  portal: { wire: NetworkAttemptResult.PORTAL, text: 'connected, but a captive portal asks for a sign-in' },
  'no-internet': { wire: NetworkAttemptResult.NO_INTERNET, text: 'connected, but no internet' },
  'wrong-password': { wire: NetworkAttemptResult.WRONG_PASSWORD, text: 'wrong password' },
  'not-found': { wire: NetworkAttemptResult.NOT_FOUND, text: 'network not found' },
  'no-address': { wire: NetworkAttemptResult.NO_ADDRESS, text: 'no address from DHCP' },
  'refused-by-authentication-server': {
    wire: NetworkAttemptResult.REFUSED_BY_AUTHENTICATION_SERVER,
    text: 'user name or password refused by the authentication server',
  },
  'authentication-server-not-trusted': {
    wire: NetworkAttemptResult.AUTHENTICATION_SERVER_NOT_TRUSTED,
    text: 'authentication server not trusted',
  },
  'client-certificate-refused': {
    wire: NetworkAttemptResult.CLIENT_CERTIFICATE_REFUSED,
    text: 'client certificate refused',
  },
  'address-in-use': { wire: NetworkAttemptResult.ADDRESS_IN_USE, text: 'address in use by another device' },
  'timed-out': { wire: NetworkAttemptResult.TIMED_OUT, text: 'timed out' },
  'device-gone': { wire: NetworkAttemptResult.DEVICE_GONE, text: 'network device removed' },
  failed: { wire: NetworkAttemptResult.FAILED, text: 'failed' },
} as const satisfies Record<string, StateRow<NetworkAttemptResult>>;

/** What became of a configured network, or of a setting of the radio. */
export const networkRowStates = {
  'not-known': { wire: NetworkRowState.NOT_KNOWN, text: 'not known' },
  'in-use': { wire: NetworkRowState.IN_USE, text: 'in use' },
  joining: { wire: NetworkRowState.JOINING, text: 'joining' },
  'out-of-range': { wire: NetworkRowState.OUT_OF_RANGE, text: 'out of range' },
  'no-radio': { wire: NetworkRowState.NO_RADIO, text: 'no WiFi radio' },
  'no-interface': { wire: NetworkRowState.NO_INTERFACE, text: 'no such interface' },
  refused: { wire: NetworkRowState.REFUSED, text: 'refused' },
  waiting: { wire: NetworkRowState.WAITING, text: 'waiting' },
  'not-tried': { wire: NetworkRowState.NOT_TRIED, text: 'not tried yet' },
  failed: { wire: NetworkRowState.FAILED, text: 'failed' },
  'not-stored': { wire: NetworkRowState.NOT_STORED, text: 'not stored yet' },
  'not-in-use': { wire: NetworkRowState.NOT_IN_USE, text: 'not in use' },
} as const satisfies Record<string, StateRow<NetworkRowState>>;
