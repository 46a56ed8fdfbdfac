import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AgentStatus, NetworkRowReport, SliceReport } from '@platform/contract/machine/agent-status';
import { statusText } from '../src/commands/status-text.ts';
import { program, status } from './healthy-status.ts';

const since = '2025-12-31T22:00:00.000Z';
const busy: AgentStatus = {
  ...status,
  programs: {
    agent: program,
    server: {
      ...program,
      running: '2.1.0-dev.19099fff',
      wanted: '2.2.0-dev.9b7b471f',
      pin: '2.1.0',
      why: '2.1.0 is used. It waits for the window Thu 03:00 UTC.',
      wait: { reason: 'it waits for the window Thu 03:00 UTC', until: '2026-01-01T03:00:00.000Z' },
      trial: { version: '2.1.0', previous: '2.0.4', starts: 2, since },
      quarantined: [
        {
          version: '2.2.0',
          reason: 'it ended 3 times\u001b[2J before it was ready',
          since,
          exit: {
            version: '2.2.0',
            reason: 'signal SIGSEGV',
            lines: ['loading', 'Segmentation\u001b[2J fault'],
            since,
          },
        },
      ],
      last_exit: { version: '2.1.0', reason: 'exit 3', lines: ['no camera'], since: '2025-12-31T23:59:00.000Z' },
      is_unsigned: true,
    },
  },
  conditions: [
    { code: 'CLOCK_WRONG', severity: 'warning', message: 'The clock is slow.', remedy: 'Set it.', since, path: '' },
  ],
};

test('the status text: its content', () => {
  const text = statusText(busy);
  for (const words of [
    /^machine {2}part, barn, linux\/amd64, debian:12$/m,
    /^server {4}1\.0\.0|^server {3}running 1\.0\.0/m,
    /^PROGRAM {2}RUNNING {13}INSTALLED {2}WANTED {14}PREVIOUS$/m,
    /why {5}2\.1\.0 is used\. It waits for the window Thu 03:00 UTC \(in 3 h\)\./,
    /pinned {2}to 2\.1\.0, on this machine/,
    /trial {3}2\.1\.0 is on trial for 2 h, start 2 of 3; before it 2\.0\.4/,
    /bad {5}2\.2\.0 for 2 h: it ended 3 times\?\[2J before it was ready/,
    /ended {3}2\.2\.0, 2 h ago: signal SIGSEGV\n {4}\| +loading\n {4}\| +Segmentation\?\[2J fault/,
    /ended {3}2\.1\.0, 1 min ago: exit 3\n {4}\| +no camera/,
    /signed {2}no: no release key signed the running file/,
    /^WARNING for 2 h: The clock is slow\.\n {2}Set it\.$/m,
  ])
    assert.match(text, words);
});

test('the status text: a version that waits for its first start is on no trial, and a server that is kept back says why', () => {
  const { server } = busy.programs;
  const waiting: AgentStatus = {
    ...busy,
    server: { ...busy.server, at: 'stopped', version: '', since: null, pid: null, url: '' },
    programs: {
      ...busy.programs,
      server: {
        ...server,
        trial: { version: '2.1.0', previous: '2.0.4', starts: 0, since },
        start_wait: {
          reason: 'it waits for the management server and an update check',
          until: new Date(Date.parse(busy.at) + 40_000).toISOString(),
        },
      },
    },
  };
  const text = statusText(waiting);
  assert.match(
    text,
    /trial {3}2\.1\.0 has not started yet, and is on trial from its first start on;\s+before it\s+2\.0\.4/,
  );
  assert.doesNotMatch(text, /start 0 of 3/);
  assert.match(
    text.replaceAll(/\s+/g, ' '),
    /server stopped, it waits for the management server and an update check \(in 1 min\)/,
  );
});

const row = (more: Partial<NetworkRowReport>): NetworkRowReport => ({
  path: 'agent.additional_networks.barn',
  name: 'barn',
  interface: '',
  state: 'out-of-range',
  text: 'stored, not seen any more',
  code: '',
  since,
  measured: since,
  last_seen: since,
  has_no_effect: false,
  ...more,
});

test('the status text: one row for each configured network and setting of a radio', () => {
  const network: NonNullable<AgentStatus['network']> = {
    mode: 'normal',
    since,
    why: 'eth0 is connected',
    next: '',
    next_at: null,
    has_link: true,
    connectivity: 'full',
    is_cloud_reached: true,
    links: [],
    hotspot_ssid: '',
    attempts: [],
    is_on_fallback: false,
    networks: [
      row({}),
      row({
        name: 'press',
        state: 'no-interface',
        text: 'this machine has no interface eth7',
        has_no_effect: true,
        last_seen: null,
      }),
    ],
    settings: [
      row({
        path: 'agent.network_configuration.wifi_country',
        name: '',
        state: 'refused',
        text: 'the firmware obeys US',
        code: 'WIFI_COUNTRY_NOT_APPLIED',
        last_seen: null,
      }),
    ],
  };
  const text = statusText({ ...status, network }).replaceAll(/\s+/g, ' ');
  assert.match(text, /row barn: out of range for 2 h, last seen 2 h ago: stored, not seen any more/);
  assert.match(text, /row press: no such interface for 2 h, no effect here: this machine has no interface eth7/);
  assert.match(text, /row wifi_country: refused for 2 h: the firmware obeys US \(WIFI_COUNTRY_NOT_APPLIED\)/);
});

test('the status text fits any terminal, and a program that reads it gets the table', () => {
  for (const columns of [40, 60, 80, 200])
    for (const line of statusText(busy, columns).split('\n')) assert.ok(line.length <= columns, `${columns}: ${line}`);
  assert.match(statusText(busy, 40), /^PROGRAM {4}server$/im);
  assert.match(
    statusText({ ...busy, programs: { ...busy.programs, agent: { ...program, running: 'x'.repeat(90) } } }),
    /^PROGRAM/m,
  );
});

test('the configuration: "in effect" alone only where everything that was saved is', () => {
  const slice = (state: SliceReport['state'], more: Partial<SliceReport> = {}): SliceReport => ({
    slice: 'server',
    state,
    revision: 3,
    since,
    code: '',
    reason: state === 'in effect' ? '' : 'why',
    ineffective_paths: [],
    ...more,
  });
  const shown = (config: Partial<AgentStatus['config']>): string =>
    statusText({ ...status, config: { ...status.config, ...config } }, 200)
      .split('\n')
      .filter((line) => /^(?:config| +but) /.test(line))
      .map((line) => line.trim().replace(/ +/g, ' '))
      .join(' | ');
  const from = 'as the management server has it';
  assert.equal(shown({}), `config revision 1 in effect, ${from}`, 'of an older agent, as before');
  const both = { revision: 3, received_revision: 3 };
  assert.equal(shown({ ...both, slices: [slice('in effect')] }), `config revision 3 in effect, ${from}`);
  assert.equal(
    shown({ ...both, slices: [slice('no effect', { slice: 'network', ineffective_paths: ['agent.a', 'agent.b'] })] }),
    `config revision 3 partly in effect, ${from} | but network: no effect here: agent.a, agent.b (why)`,
  );
  assert.equal(
    shown({ ...both, slices: [slice('not reported')] }),
    `config revision 3 partly in effect, ${from} | but server: why`,
  );
  assert.equal(
    shown({ revision: 2, received_revision: 3, slices: [slice('lagging')] }),
    `config revision 3 not in effect, 2 is; ${from} | but server not in effect for 2 h: why`,
  );
  assert.equal(
    shown({ ...both, slices: [slice('lagging')] }),
    `config revision 3 not in effect; ${from} | but server not in effect for 2 h: why`,
  );
});

const at = (seconds: number): string => new Date(Date.parse(status.at) + seconds * 1000).toISOString();
const network: NonNullable<AgentStatus['network']> = {
  mode: 'normal',
  since: at(-3600),
  why: 'the machine is online',
  next: '',
  next_at: null,
  has_link: true,
  connectivity: 'full',
  is_cloud_reached: true,
  links: [],
  hotspot_ssid: '',
  attempts: [],
  is_on_fallback: false,
};
const attempt = { network: 'Home', interface: 'wlan0', at: at(-300), result: 'ok', text: '' };
const networkRows: [name: string, more: Partial<typeof network>, rows: string[]][] = [
  ['online', {}, ['network  connected for 1 h, internet full: the machine is online']],
  [
    'online, with the age of the check',
    { connectivity_checked_on: at(-300) },
    ['network  connected for 1 h, internet full (checked 5 min ago): the machine is online'],
  ],
  [
    'offline: what is next, and when',
    {
      has_link: false,
      connectivity: 'none',
      why: 'the connection is lost',
      next: 'the hotspot starts, because no known network works',
      next_at: at(120),
    },
    [
      'network  not connected for 1 h, internet none: the connection is lost',
      'next  the hotspot starts, because no known network works, in 2 min',
    ],
  ],
  [
    'the hotspot, and why the last attempt failed',
    {
      mode: 'hotspot',
      hotspot_ssid: 'platform-setup-barn',
      connectivity: 'none',
      why: 'the network that was entered could not be used',
      attempts: [{ ...attempt, result: 'wrong-password', text: 'The password of Home is wrong.' }, attempt],
    },
    [
      'network  hotspot platform-setup-barn for 1 h, internet none: the network that was entered could not be used',
      'last  Home, 5 min ago: The password of Home is wrong.',
    ],
  ],
  [
    'joined',
    { attempts: [attempt] },
    ['network  connected for 1 h, internet full: the machine is online', 'last  Home, 5 min ago: connected'],
  ],
  [
    'left to the system',
    { mode: 'unmanaged', why: 'disable_network_configuration is true; left to the system: Home' },
    [
      'network  not managed by the agent for 1 h, internet full: disable_network_configuration is true; left to the system: Home',
    ],
  ],
  [
    'notes, one row each',
    { notes: ['Home gives IPv6 addresses only', 'wlan1 is a second radio: the agent uses wlan0 (hotspot_interface)'] },
    [
      'network  connected for 1 h, internet full: the machine is online',
      'note  Home gives IPv6 addresses only',
      'note  wlan1 is a second radio: the agent uses wlan0 (hotspot_interface)',
    ],
  ],
];
for (const [name, more, rows] of networkRows) {
  test(`the network in the status: ${name}`, () => {
    const text = statusText({ ...status, network: { ...network, ...more } }, 400);
    const shown = text
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => /^(network|next|note|last) /.test(line));
    assert.deepEqual(
      shown.map((line) => line.replace(/ {2,}/, '  ')),
      rows,
    );
  });
}

const upgrade = (name: string): NonNullable<AgentStatus['system']>['waiting'][number] => ({
  package: name,
  from: '1',
  to: '2',
  is_security: false,
});
const nothingWaits: NonNullable<AgentStatus['system']> = {
  waiting_count: 0,
  security_count: 0,
  waiting: [],
  last_run: null,
  reboot: null,
  task: '',
};
const run = {
  started: at(-7200),
  ended: at(-7100),
  command: 'apt-get upgrade',
  packages: [upgrade('curl')],
  problem: '',
};
const systemRows: [name: string, more: Partial<typeof nothingWaits> | undefined, rows: string[]][] = [
  ['not known', undefined, []],
  ['nothing waits', {}, ['system  no upgrade waits']],
  ['one waits', { waiting_count: 1, waiting: [upgrade('curl')] }, ['system  1 upgrade waits']],
  [
    'disabled',
    { why: 'disable_system_configuration is true; restored: /etc/x' },
    ['system  not managed by the agent: disable_system_configuration is true; restored: /etc/x', 'no upgrade waits'],
  ],
  [
    'disabled on a system without apt',
    { has_apt: false, why: 'disable_system_configuration is true' },
    ['system  not managed by the agent: disable_system_configuration is true'],
  ],
  ['security apart', { waiting_count: 3, security_count: 1 }, ['system  3 upgrades wait, 1 for security']],
  ['a running task', { task: 'upgrade the packages' }, ['system  no upgrade waits', 'now  upgrade the packages']],
  ['the last run', { last_run: run }, ['system  no upgrade waits', 'last  upgraded 2 h ago: curl 2']],
  [
    'a failed run of many packages',
    { last_run: { ...run, packages: ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map(upgrade), problem: 'no space' } },
    ['system  no upgrade waits', 'last  upgraded 2 h ago: a 2, b 2, c 2, d 2, e 2 and 2 more; no space'],
  ],
  [
    'a reboot that is needed',
    { reboot: { since: at(-3600), causes: ['linux-image'], wait: 'no maintenance window is configured' } },
    ['system  no upgrade waits', 'reboot  needed for 1 h because of linux-image: no maintenance window is configured'],
  ],
];
for (const [name, more, rows] of systemRows) {
  test(`the operating system in the status: ${name}`, () => {
    const text = statusText({ ...status, ...(more && { system: { ...nothingWaits, ...more } }) }, 400);
    const shown = text.split('\n').map((line) => line.trim());
    assert.deepEqual(
      shown
        .filter((line) => /^(system|now|last|reboot|no upgrade) ?/.test(line))
        .map((line) => line.replace(/ {2,}/, '  ')),
      rows,
    );
  });
}
