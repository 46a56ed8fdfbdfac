// Which slices have put a configuration in effect: a slice with a failure is never "in effect".
import { defaultAgentConfig } from '@platform/contract/agent-config';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextSlices } from '../config/applied.ts';
import {
  nothingYet,
  type Actual,
  type InstallStatus,
  type ServerConfig,
  type ServerStatus,
  type Wanted,
} from './state.ts';
import { appliedRevision, lookAtSlices, type Actor } from './slices.ts';

const sha256 = 'ab'.repeat(32);
const id = `1.0.0-${sha256.slice(0, 12)}`;
const other = '0.9.0-0123456789ab';
const release = {
  url: 'u',
  version: '1.0.0',
  sha256,
  sizeBytes: 1,
  target: 't',
  isUnsigned: false,
  deltas: [],
  wish: 'stable',
};
const wanted: Wanted = {
  revision: 7,
  settings: {
    debug: false,
    isDeduplicationOff: false,
    isServerDisabled: false,
    isAgentRestartAllowed: false,
    startTimeoutMs: 1,
    isUpdateCheckFirst: false,
    serverEnv: {},
    maintenanceWindows: [],
    longestDeferralHours: 0,
    network: defaultAgentConfig().network_configuration,
    additionalNetworks: [],
    isNetworkDisabled: false,
    isSystemDisabled: false,
    system: undefined,
  },
  corrections: [],
  ineffective: [],
  versions: { agent: '', server: '' },
  server: release,
  agent: release,
  clearance: 0,
  systemUpgrades: 0,
  isFresh: true,
};
const install: InstallStatus = {
  ...nothingYet.install,
  installed: id,
  running: id,
  isChecked: true,
  look: { revision: 7, desired: id },
};
const config: ServerConfig = { revision: 7, isChanging: false, etag: 'e', report: { revision: 7, resources: [] } };
const server: ServerStatus = { ...nothingYet.server, at: 'running', running: id, url: 'u', config, environment: '{}' };
const actual: Actual = { ...nothingYet, server, install, agentInstall: install, acted: { settings: 7 } };
const actor: Actor = { platform: 'linux/amd64', isReplaceable: true, markOf: (env) => JSON.stringify(env) };

const withServer = (change: Partial<ServerStatus>): Actual => ({ ...actual, server: { ...server, ...change } });
const withConfig = (change: Partial<ServerConfig>): Actual => withServer({ config: { ...config, ...change } });
const withInstall = (change: Partial<InstallStatus>): Actual => ({ ...actual, install: { ...install, ...change } });
const withSettings = (change: Partial<Wanted['settings']>): Wanted => ({
  ...wanted,
  settings: { ...wanted.settings, ...change },
});
const resource = (state: 'ready' | 'waiting' | 'failed' | 'unhealthy', code = '') => ({
  revision: 7,
  resources: [
    {
      name: 'a',
      path: 'services[0]',
      state,
      sinceWall: 1,
      ...(code && { error: { code, message: 'Why.', remedy: '' } }),
    },
  ],
});
const failure = { code: 'DOWNLOAD_CORRUPT', text: 'It is cut.', remedy: '', sinceWall: 1 };
const bad = { id, reason: 'it crashed', clearance: 0, since: 1 };

const rows: [name: string, wanted: Wanted, actual: Actual, found: string][] = [
  ['everything has acted', wanted, actual, ''],
  ['the settings were heard only', wanted, { ...actual, acted: { settings: 6 } }, 'settings lagging'],
  [
    'the server is not stopped yet',
    withSettings({ isServerDisabled: true }),
    actual,
    'settings lagging, server no effect',
  ],
  [
    'the server is disabled',
    withSettings({ isServerDisabled: true }),
    withServer({ at: 'disabled' }),
    'server no effect',
  ],
  [
    'the server runs with another environment',
    withSettings({ serverEnv: { A: '1' } }),
    actual,
    'settings lagging RESTART_NEEDED',
  ],
  [
    'an environment that was not recorded is ignored',
    withSettings({ serverEnv: { A: '1' } }),
    withServer({ environment: undefined }),
    '',
  ],
  [
    'the version was not looked for yet',
    wanted,
    withInstall({ look: { revision: 6, desired: id } }),
    'versions lagging',
  ],
  [
    'a version that is not published',
    { ...wanted, server: undefined, versions: { agent: '', server: '9.9.9' } },
    actual,
    'versions lagging RELEASE_NOT_FOUND',
  ],
  ['nothing is published or desired', { ...wanted, server: undefined, agent: undefined }, actual, ''],
  ['a download that fails', wanted, withInstall({ installed: other, failure }), 'versions lagging DOWNLOAD_CORRUPT'],
  [
    'a version that is quarantined',
    wanted,
    withInstall({ installed: other, quarantined: [bad] }),
    'versions lagging VERSION_QUARANTINED',
  ],
  ['a version that is being installed', wanted, withInstall({ installed: other }), 'versions lagging'],
  ['a version that waits for a restart', wanted, withInstall({ running: other }), 'versions lagging RESTART_NEEDED'],
  [
    'an agent that waits for a restart',
    wanted,
    { ...actual, agentInstall: { ...install, running: other } },
    'versions lagging AGENT_RESTART_NEEDED',
  ],
  ['a version that an operator pinned at the machine', wanted, withInstall({ pin: '0.9.0' }), 'versions lagging'],
  [
    'no server at all',
    { ...wanted, server: undefined },
    { ...withInstall({ installed: null, running: null }), server: nothingYet.server },
    'server no effect',
  ],
  [
    'the server crashes',
    wanted,
    withServer({ at: 'waiting', running: null, lastExit: 'exit 3' }),
    'server lagging SERVER_CRASHES',
  ],
  ['the server is starting', wanted, withServer({ at: 'starting' }), 'server lagging'],
  ['the server was not asked yet', wanted, withServer({ config: undefined }), 'server lagging'],
  [
    'a server that does not report',
    wanted,
    withConfig({ revision: undefined, etag: '', report: undefined }),
    'server not reported',
  ],
  ['a server without a report of its entries', wanted, withConfig({ etag: '', report: undefined }), ''],
  ['the report could not be fetched', wanted, withConfig({ report: undefined }), 'server lagging'],
  ['the server uses an older revision', wanted, withConfig({ revision: 6 }), 'server lagging'],
  ['the server is ahead', wanted, withConfig({ revision: 8 }), ''],
  ['the server is applying it', wanted, withConfig({ isChanging: true }), 'server lagging'],
  [
    'an entry has failed',
    wanted,
    withConfig({ report: resource('failed', 'RESOURCE_UNKNOWN') }),
    'server lagging RESOURCE_UNKNOWN',
  ],
  [
    'an entry waits',
    wanted,
    withConfig({ report: resource('waiting', 'RESOURCE_WAITS') }),
    'server lagging RESOURCE_WAITS',
  ],
  [
    'an entry works badly, but as configured',
    wanted,
    withConfig({ report: resource('unhealthy', 'CAMERA_FAILED') }),
    '',
  ],
];

for (const [name, desired, observed, found] of rows)
  test(`slices: ${name}`, () => {
    const looks = lookAtSlices(desired, observed, actor);
    const shown = Object.entries(looks).flatMap(([slice, { at, code, reason }]) => {
      assert.equal(reason === '', at === 'in effect', slice);
      if (at === 'in effect' || ((slice === 'network' || slice === 'system') && at === 'no effect')) return [];
      return [`${slice} ${at} ${code}`.trim()];
    });
    assert.equal(shown.join(', '), found);
    const before = nextSlices({ ...wanted, revision: 6 }, { ...actual, acted: { settings: 6 } }, actor, {}, {}, 1_000);
    const slices = nextSlices(desired, observed, actor, before, {}, 2_000);
    assert.equal(appliedRevision(desired, slices, 6), found.includes('lagging') ? 6 : 7);
  });

test('the field of a section that nothing acts on is named, and the section is left out', () => {
  const ineffective = [
    { section: 'network_configuration', path: 'agent.network_configuration.hotspot_password', reason: 'r', remedy: '' },
    {
      section: 'advanced_settings',
      path: 'agent.advanced_settings.disable_network_configuration',
      reason: 'r',
      remedy: '',
    },
  ];
  const { network, settings } = lookAtSlices({ ...wanted, ineffective }, actual, actor);
  assert.deepEqual([network.at, network.ineffective], ['no effect', [ineffective[0]?.path]]);
  assert.deepEqual([settings.at, settings.ineffective], ['in effect', [ineffective[1]?.path]]);
});

test('an agent that cannot replace itself names its version as without effect', () => {
  const here = { ...actor, isReplaceable: false };
  const agentInstall = nothingYet.agentInstall;
  const pinned = { ...wanted, versions: { agent: '2.0.0', server: '' } };
  assert.deepEqual(lookAtSlices(pinned, { ...actual, agentInstall }, here).versions, {
    at: 'in effect',
    code: '',
    reason: '',
    ineffective: ['agent.version_control.agent'],
  });
});

test('the time of a state is that of its beginning, also after the agent was started again', () => {
  const failing = withConfig({ report: resource('failed', 'A') });
  const first = nextSlices(wanted, actual, actor, {}, {}, 1_000);
  const second = nextSlices({ ...wanted, revision: 8 }, actual, actor, first, {}, 2_000);
  const third = nextSlices({ ...wanted, revision: 8 }, failing, actor, second, {}, 3_000);
  assert.deepEqual([first.server?.sinceWall, second.server?.sinceWall, third.server?.sinceWall], [1_000, 2_000, 2_000]);
  assert.deepEqual([first.server?.revision, second.server?.revision, third.server?.revision], [7, 7, 7]);
  const kept = JSON.parse(JSON.stringify(third)) as Record<string, { at: string; revision: number; sinceWall: number }>;
  const anew = nextSlices({ ...wanted, revision: 8 }, failing, actor, {}, kept, 9_000);
  assert.deepEqual([anew.server?.revision, anew.server?.sinceWall], [7, 2_000]);
  // A restored database knows fewer revisions than the machine.
  assert.equal(nextSlices({ ...wanted, revision: 3 }, failing, actor, {}, kept, 9_000).server?.revision, 3);
});

test('revisions that failed in turn were never in effect, though each slice has passed them', () => {
  const noVersion = { ...wanted, revision: 8, server: undefined, versions: { agent: '', server: '9.9.9' } };
  const heard = { ...withConfig({ revision: 9 }), acted: { settings: 9 } };
  const looked = { ...install, look: { revision: 9, desired: id } };
  const second = nextSlices(noVersion, { ...heard, install: looked, agentInstall: looked }, actor, {}, {}, 1);
  assert.equal(appliedRevision(noVersion, second, 7), 7);
  const now = { acted: { settings: 9 }, install: looked, agentInstall: looked };
  const failing = { ...withConfig({ revision: 9, report: resource('failed') }), ...now };
  const third = nextSlices({ ...wanted, revision: 9 }, failing, actor, second, {}, 2);
  assert.deepEqual([third.server?.revision, third.versions?.revision], [8, 9]);
  assert.equal(appliedRevision({ ...wanted, revision: 9 }, third, 7), 7);
});
