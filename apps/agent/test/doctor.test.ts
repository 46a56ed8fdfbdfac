import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AgentStatus } from '@platform/contract/machine/agent-status';
import type { Observations } from '../src/doctor/observations.ts';
import { checkResults, worstOf } from '../src/doctor/checks.ts';
import { program, status } from './healthy-status.ts';

const systemd = {
  isUnitThere: true,
  activeState: 'active',
  isEnabled: true,
  needsReload: false,
  result: 'success',
  restarts: 0,
};
const healthy: Observations = {
  root: '/opt/platform',
  isRoot: true,
  credentialsFile: '/etc/platform.json',
  credentials: { at: 'usable', text: '', partId: 'part', appAddress: 'https://c' },
  credentialsMode: 0o100600,
  systemd,
  gate: { isThere: true, isCurrent: true, problem: '' },
  programs: [
    { name: 'platform-agent', id: '1.0.0-aaaaaaaaaaaa', problem: '' },
    { name: 'platform-server', id: '1.0.0-bbbbbbbbbbbb', problem: '' },
  ],
  freeBytes: 2e9,
  fileSystem: { mountPoint: '/', isNoExec: false, freeBytes: 2e9 },
  spoolBytes: 1000,
  status,
  isSilent: false,
  cloud: { address: 'https://c', proxy: '', problem: undefined, tookMs: 12, aheadMs: 300 },
  unusableProxies: [],
};

test('a machine in order: everything is ok', () => {
  const results = checkResults(healthy);
  assert.deepEqual(
    results.filter(({ at }) => at !== 'ok'),
    [],
  );
  assert.equal(worstOf(results), 'ok');
  assert.ok(results.length > 9);
});

const server = (change: Partial<AgentStatus['server']>): Partial<Observations> => ({
  status: { ...status, server: { ...status.server, ...change } },
});
const cases: [name: string, change: Partial<Observations>, check: string, at: string, says: RegExp, remedy: RegExp][] =
  [
    ['not root', { isRoot: false }, 'account', 'warning', /Without root/, /sudo/],
    [
      'no credentials',
      { credentials: { at: 'none' } },
      'credentials',
      'failed',
      /no credentials file/,
      /management app/,
    ],
    [
      'credentials, not root',
      { credentials: { at: 'closed' }, isRoot: false },
      'credentials',
      'note',
      /only root/,
      /^$/,
    ],
    ['an agent, not root', { status: undefined, isRoot: false }, 'agent', 'note', /answers root only/, /^$/],
    [
      'damaged credentials',
      { credentials: { at: 'unusable', problem: 'it is not a JSON object' } },
      'credentials',
      'failed',
      /not a JSON object/,
      /provision/,
    ],
    ['credentials for all to read', { credentialsMode: 0o100644 }, 'credentials', 'warning', /mode 644/, /chmod 600/],
    [
      'a proxy of a kind that is not supported',
      { unusableProxies: ['all_proxy=socks5://p:1: SOCKS proxies are not supported.'] },
      'proxy',
      'failed',
      /SOCKS proxies are not supported\. The agent connects without it/,
      /speaks HTTP/,
    ],
    ['no systemd', { systemd: undefined }, 'service', 'note', /nothing restarts the agent/, /^$/],
    [
      'no unit',
      { systemd: { ...systemd, isUnitThere: false } },
      'service',
      'failed',
      /no unit/,
      /platform-agent install/,
    ],
    [
      'failed unit',
      { systemd: { ...systemd, activeState: 'failed', result: 'watchdog' } },
      'service',
      'failed',
      /is failed; its last result was: watchdog/,
      /journalctl/,
    ],
    [
      'stopped unit',
      { systemd: { ...systemd, activeState: 'inactive' } },
      'service',
      'failed',
      /is inactive/,
      /systemctl start/,
    ],
    [
      'not enabled',
      { systemd: { ...systemd, isEnabled: false } },
      'service',
      'warning',
      /not started at boot/,
      /enable/,
    ],
    [
      'many restarts',
      { systemd: { ...systemd, restarts: 7 } },
      'service',
      'warning',
      /restarted the agent 7 times/,
      /journalctl/,
    ],
    [
      'no gate',
      { gate: { isThere: false, isCurrent: false, problem: '' } },
      'gate',
      'failed',
      /is missing: a failing agent/,
      /install/,
    ],
    [
      'damaged gate',
      { gate: { isThere: true, isCurrent: false, problem: 'line 3: syntax error' } },
      'gate',
      'failed',
      /syntax error/,
      /install/,
    ],
    [
      'old gate',
      { gate: { isThere: true, isCurrent: false, problem: '' } },
      'gate',
      'warning',
      /another version/,
      /install/,
    ],
    [
      'damaged server',
      { programs: [{ name: 'platform-server', id: 'x', problem: 'The file of version x is damaged.' }] },
      'platform-server',
      'failed',
      /damaged/,
      /install/,
    ],
    [
      'quarantined version',
      {
        status: {
          ...status,
          programs: {
            agent: program,
            server: {
              ...program,
              quarantined: [{ version: '1.1.0', reason: 'it did not become ready', since: null }],
            },
          },
        },
      },
      'server quarantine',
      'warning',
      /1\.1\.0 failed here and is not used: it did not become ready/,
      /platform-agent clear server/,
    ],
    ['no agent', { status: undefined }, 'agent', 'failed', /No agent answers/, /journalctl/],
    [
      'an agent with complaints',
      {
        status: {
          ...status,
          conditions: [
            { code: 'DISK_FULL', severity: 'error', message: 'No space.', remedy: 'Free some.', since: null, path: '' },
          ],
        },
      },
      'agent',
      'warning',
      /No space/,
      /Free some/,
    ],
    [
      'server crashes',
      server({ at: 'waiting', url: '', last_exit: 'exit 3' }),
      'machine server',
      'failed',
      /is waiting/,
      /logs --server/,
    ],
    ['server starts', server({ at: 'starting', url: '' }), 'machine server', 'warning', /does not answer yet/, /Wait/],
    ['server disabled', server({ at: 'disabled', url: '' }), 'machine server', 'note', /configuration disables/, /^$/],
    [
      'server away',
      {
        cloud: {
          address: 'https://c',
          proxy: 'http://***@p:1',
          problem: { code: 'CLOUD_NAME_UNKNOWN', what: 'The name c is not known.', remedy: 'Check DNS.' },
          tookMs: 1,
          aheadMs: undefined,
        },
      },
      'management server',
      'failed',
      /not known.*went through http:\/\/\*\*\*@p:1/,
      /DNS/,
    ],
    [
      'wrong clock',
      { cloud: { ...healthy.cloud!, aheadMs: -7_200_000 } },
      'clock',
      'warning',
      /120 minutes behind/,
      /set-ntp/,
    ],
    [
      'only the agent is away',
      { status: { ...status, cloud: { ...status.cloud, is_reached: false } } },
      'agent to server',
      'warning',
      /but the agent does not/,
      /proxy settings from installation time/,
    ],
    ['full disk', { freeBytes: 10e6 }, 'disk', 'failed', /10 MB are free.*at least 50 MB/, /Free some space/],
    [
      'no inodes',
      { fileSystem: { mountPoint: '/opt', isNoExec: false, freeBytes: 2e9, inodes: { total: 40, free: 0 } } },
      'disk',
      'failed',
      /No inodes are free on the file system at \/opt/,
      /Delete files/,
    ],
    [
      'a root on which nothing can be started',
      { fileSystem: { mountPoint: '/opt', isNoExec: true, freeBytes: 2e9 } },
      'mount',
      'failed',
      /at \/opt, which is mounted noexec/,
      /remount,exec \/opt/,
    ],
    ['little room', { freeBytes: 200e6 }, 'disk', 'warning', /an update needs 450 MB/, /Free some space/],
    ['full spool', { spoolBytes: 14e6 }, 'logs', 'warning', /14\.0 MB.*beyond 12 MiB/, /management server/],
  ];
for (const [name, change, check, at, says, remedy] of cases) {
  test(`doctor: ${name}`, () => {
    const result = checkResults({ ...healthy, ...change }).find((one) => one.name === check);
    assert.equal(result?.at, at);
    assert.match(result?.says ?? '', says);
    assert.match(result?.remedy ?? '', remedy);
  });
}
