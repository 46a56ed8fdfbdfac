import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type JoinContext, type JoinEvent, joinOutcome, outcomeAtLimit, refusedActivation } from './join-outcome.ts';

const [device, active] = ['/Devices/2', '/ActiveConnection/5'];
const at = (state: number, reason = 0): JoinEvent => ({ is: 'device', path: device, state, reason });
const ended = (reason: number): JoinEvent => ({ is: 'active', path: active, state: 4, reason });
const supplicant = (state: string): JoinEvent => ({ is: 'supplicant', state });
const eap = (status: string, parameter: string): JoinEvent => ({ is: 'eap', status, parameter });
const context = (security: JoinContext['security']): JoinContext => ({ active, device, security });

/** NetworkManager and wpa_supplicant report these events; the port returns this. */
const transcripts: readonly [name: string, JoinContext['security'], readonly JoinEvent[], expected: string][] = [
  ['nothing yet', 'psk', [], 'goes on'],
  ['associating', 'psk', [at(40), at(50), supplicant('4way_handshake')], 'goes on'],
  ['connected', 'psk', [at(100), { is: 'active', path: active, state: 2, reason: 1 }], 'ok'],
  ['another connection', 'psk', [{ is: 'active', path: '/ActiveConnection/4', state: 4, reason: 3 }], 'goes on'],
  ['another device', 'psk', [{ is: 'device', path: '/Devices/9', state: 120, reason: 7 }], 'goes on'],
  ['no secrets', 'psk', [at(50), at(60, 8), at(120, 7)], 'wrong-password'],
  ['supplicant disconnected', 'psk', [at(50), at(120, 8)], 'wrong-password'],
  ['handshake without end', 'psk', [supplicant('4way_handshake'), at(120, 11)], 'wrong-password'],
  ['refused by reason 15', 'psk', [{ is: 'supplicant', disconnectReason: -15 }, at(120, 53)], 'wrong-password'],
  ['WPA3 refused', 'psk', [{ is: 'supplicant', authStatus: 15 }, at(120, 11)], 'wrong-password'],
  ['weak signal', 'psk', [supplicant('associating'), at(120, 11)], 'timed-out'],
  [
    'left after the handshake',
    'psk',
    [supplicant('4way_handshake'), supplicant('completed'), at(120, 53)],
    'not-found',
  ],
  ['SSID not found', 'psk', [at(50), at(120, 53)], 'not-found'],
  ['open network refuses', 'open', [at(120, 8)], 'failed'],
  ['no lease', 'open', [at(70), at(120, 5)], 'no-address'],
  ['DHCP failed', 'psk', [at(70), at(120, 17)], 'no-address'],
  ['address of another host', 'psk', [at(70), at(120, 64)], 'address-in-use'],
  ['radio unplugged', 'psk', [at(50), { is: 'removed', path: device }], 'device-gone'],
  ['connection ends without a device event', 'psk', [ended(9)], 'wrong-password'],
  ['connection ends for the device', 'psk', [ended(14)], 'device-gone'],
  ['a user disconnects', 'psk', [ended(2)], 'failed'],
  ['EAP password', 'eap', [eap('completion', 'failure'), at(120, 8)], 'refused-by-authentication-server'],
  ['EAP without reports', 'eap', [at(120, 7)], 'refused-by-authentication-server'],
  [
    'wrong authority',
    'eap',
    [eap('remote certificate verification', 'self signed certificate'), at(120, 8)],
    'authentication-server-not-trusted',
  ],
  [
    'good authority, wrong password',
    'eap',
    [eap('remote certificate verification', 'success'), eap('completion', 'failure'), at(120, 7)],
    'refused-by-authentication-server',
  ],
  [
    'expired certificate',
    'eap',
    [eap('remote TLS alert', 'certificate expired'), at(120, 8)],
    'client-certificate-refused',
  ],
  ['unreadable certificate', 'eap', [at(120, 9)], 'client-certificate-refused'],
  [
    'good authority, certificate of the machine refused without a reason',
    'eap-tls',
    [eap('remote certificate verification', 'success'), eap('completion', 'failure'), at(120, 7)],
    'client-certificate-refused',
  ],
  [
    'wrong authority, certificate of the machine not looked at',
    'eap-tls',
    [eap('remote certificate verification', 'self-signed certificate in certificate chain'), at(120, 7)],
    'authentication-server-not-trusted',
  ],
  [
    'another name of the server',
    'eap',
    [eap('remote certificate verification', 'Domain mismatch'), at(120, 7)],
    'authentication-server-not-trusted',
  ],
  ['TLS without reports', 'eap-tls', [at(120, 7)], 'client-certificate-refused'],
  ['TLS, access point gone', 'eap-tls', [at(120, 53)], 'not-found'],
  ['no lease in an enterprise network', 'eap-tls', [eap('completion', 'success'), at(70), at(120, 5)], 'no-address'],
];

for (const [name, security, events, expected] of transcripts) {
  test(`join: ${name} → ${expected}`, () => {
    const result = joinOutcome(events, context(security));
    assert.equal(result === undefined ? 'goes on' : result.ok ? 'ok' : result.reason, expected);
  });
}

for (const [name, events, expected] of [
  ['nothing was reported', [], 'timed-out'],
  ['waiting for a lease', [at(50), at(70)], 'no-address'],
  ['waiting for a lease, given up', [at(50), at(70), at(110)], 'no-address'],
  ['a desktop asks its user for the password', [at(60, 8)], 'wrong-password'],
  ['in the handshake', [at(50), supplicant('4way_handshake')], 'wrong-password'],
] as const) {
  test(`join at the time limit: ${name} → ${expected}`, () => {
    const result = outcomeAtLimit(events, context('psk'));
    assert.equal(result.ok ? 'ok' : result.reason, expected);
  });
}

test('the detail names the reason in the words of the operating system', () => {
  const events = [eap('remote TLS alert', 'certificate expired'), at(120, 8)];
  const result = joinOutcome(events, context('eap'));
  assert.equal(
    result?.ok ? '' : result?.detail,
    'supplicant disconnected (8); EAP: remote TLS alert certificate expired',
  );
});

test('the detail of an enterprise network is the cause, not the end of the conversation', () => {
  const events = [
    eap('started', ''),
    eap('remote certificate verification', 'self-signed certificate in certificate chain'),
    eap('local TLS alert', 'unknown CA'),
    eap('completion', 'failure'),
    at(120, 7),
  ];
  const detail = (of: readonly JoinEvent[]): string => {
    const result = joinOutcome(of, context('eap'));
    return result?.ok === false ? result.detail : '';
  };
  assert.equal(
    detail(events),
    'no secrets (7); EAP: remote certificate verification self-signed certificate in certificate chain',
  );
  const refused = [eap('remote certificate verification', 'success'), eap('completion', 'failure'), at(120, 7)];
  assert.equal(detail(refused), 'no secrets (7); EAP: completion failure');
});

test('an activation that NetworkManager refuses', () => {
  const name = 'org.freedesktop.NetworkManager';
  const reason = (code: string, text: string): string => {
    const result = refusedActivation(`${name}.${code}`, text);
    return result.ok ? 'ok' : result.reason;
  };
  assert.equal(reason('UnknownDevice', 'No suitable device found'), 'device-gone');
  assert.equal(
    reason('UnknownConnection', 'device wlan0 not available because the Wi-Fi network could not be found'),
    'not-found',
  );
  assert.equal(reason('PermissionDenied', 'Not authorized'), 'failed');
});
