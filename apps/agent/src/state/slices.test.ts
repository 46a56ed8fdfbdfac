// Which slices have put a configuration in effect: a slice with a failure is never "in effect".
import { actedOn } from '@platform/contract/config/effect';
import { defaultAgentConfig } from '@platform/contract/config/agent-config';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextSlices } from '../config/applied.ts';
import {
  nothingYet,
  noContent,
  type Actual,
  type ConfigContent,
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
  desired: 'stable',
};
/** A content of its own for each number. */
const saved = (revision: number, text = 'saved'): ConfigContent => ({
  revision,
  configSha256: Buffer.from(`${text} ${revision}`).toString('hex').padEnd(64, '0'),
});
const wanted: Wanted = {
  ...saved(7),
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
  orders: [],
  isFresh: true,
};
const install: InstallStatus = {
  ...nothingYet.install,
  installed: id,
  running: id,
  isChecked: true,
  look: { ...saved(7), desired: id },
};
const config: ServerConfig = {
  ...saved(7),
  isChanging: false,
  etag: 'e',
  report: { revision: 7, resources: [] },
};
const server: ServerStatus = { ...nothingYet.server, at: 'running', running: id, url: 'u', config, environment: '{}' };
const actual: Actual = { ...nothingYet, server, install, agentInstall: install, acted: { settings: saved(7) } };
const actor: Actor = {
  actsOn: actedOn('linux/amd64', { managesNetworks: false, managesSystem: false }),
  isReplaceable: true,
  markOf: (env) => JSON.stringify(env),
};

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
  ['the settings were heard only', wanted, { ...actual, acted: { settings: saved(6) } }, 'settings lagging'],
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
    'the server is disabled, and its version is not downloaded',
    { ...withSettings({ isServerDisabled: true }), versions: { agent: '', server: '1.0.0' } },
    { ...withServer({ at: 'disabled' }), install: { ...install, installed: null, running: null } },
    'server no effect',
  ],
  [
    'the first start waits for an update check',
    wanted,
    { ...withServer({ at: 'stopped', running: null }), startWait: { reason: 'it waits', untilWall: undefined } },
    'server lagging',
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
    withInstall({ look: { ...saved(6), desired: id } }),
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
    withConfig({ revision: undefined, configSha256: '', etag: '', report: undefined }),
    'server not reported',
  ],
  ['a server without a report of its entries', wanted, withConfig({ etag: '', report: undefined }), ''],
  ['the report could not be fetched', wanted, withConfig({ report: undefined }), 'server lagging'],
  ['the server uses an older revision', wanted, withConfig(saved(6)), 'server lagging'],
  ['the server is ahead, so it uses another content', wanted, withConfig(saved(8)), 'server lagging'],
  ['the server uses another content of the same number', wanted, withConfig(saved(7, 'lost')), 'server lagging'],
  ['the same content has a new number', { ...wanted, revision: 9 }, actual, ''],
  ['a server that reports the number only', wanted, withConfig({ configSha256: '' }), ''],
  ['such a server with a higher number', wanted, withConfig({ revision: 8, configSha256: '' }), 'server lagging'],
  [
    'loops that acted on a later number of a lost content',
    wanted,
    { ...actual, acted: { settings: saved(9, 'lost') } },
    'settings lagging',
  ],
  ['a server that stopped answering', wanted, withServer({ config: undefined, silentSinceWall: 1 }), 'server lagging'],
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
    const slices = nextSlices(desired, observed, actor, {}, {}, 2_000);
    assert.equal(appliedRevision(slices), found.includes('lagging') ? 0 : desired.revision);
    for (const { at, content } of Object.values(slices))
      if (at === 'in effect') assert.equal(content.configSha256, desired.configSha256);
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
  const { at, reason, ineffective } = lookAtSlices(pinned, { ...actual, agentInstall }, here).versions;
  assert.deepEqual([at, reason, ineffective], ['in effect', '', ['agent.version_control.agent']]);
});

test('the time of a state is that of its beginning, also after the agent was started again', () => {
  const failing = withConfig({ report: resource('failed', 'A') });
  const next = { ...wanted, ...saved(8) };
  const first = nextSlices(wanted, actual, actor, {}, {}, 1_000);
  const second = nextSlices(next, actual, actor, first, {}, 2_000);
  const third = nextSlices(next, failing, actor, second, {}, 3_000);
  assert.deepEqual([first.server?.sinceWall, second.server?.sinceWall, third.server?.sinceWall], [1_000, 2_000, 2_000]);
  const kept = JSON.parse(JSON.stringify(third)) as typeof third;
  assert.equal(nextSlices(next, failing, actor, {}, kept, 9_000).server?.sinceWall, 2_000);
});

test('a lagging slice names an earlier configuration only while that one is in effect now', () => {
  const four = { ...wanted, ...saved(4) };
  const five = { ...wanted, ...saved(5), agent: { ...release, sha256: 'cd'.repeat(32) } };
  const inFour = { ...actual, install: { ...install, look: { ...saved(4), desired: id } } };
  const before = nextSlices(four, { ...inFour, agentInstall: inFour.install }, actor, {}, {}, 1);
  assert.deepEqual(before.versions?.content, saved(4));
  const trying = { ...install, look: { ...saved(5), desired: `2.0.0-${'cd'.repeat(6)}` } };
  const of = (installed: string, kept: typeof before) =>
    nextSlices(five, { ...actual, agentInstall: { ...trying, installed, running: installed } }, actor, {}, kept, 2);
  const stays = of(id, before);
  assert.deepEqual([stays.versions?.at, stays.versions?.content], ['lagging', saved(4)], 'what four names still runs');
  // The new version crashed, and the agent went back to the last proven one, which no revision names.
  const reverted = of(other, before);
  assert.deepEqual([reverted.versions?.at, reverted.versions?.content], ['lagging', noContent]);
  assert.equal(appliedRevision(reverted), 0);
  const back = of(id, reverted);
  assert.deepEqual(back.versions?.content, saved(4), 'the version that four names runs again');
});

test('a server that still uses the earlier configuration names it, but not while an entry of it fails', () => {
  const next = { ...wanted, ...saved(8) };
  assert.deepEqual(lookAtSlices(next, actual, actor).server.content, saved(7));
  assert.deepEqual(lookAtSlices(next, withConfig({ report: resource('failed') }), actor).server.content, noContent);
  assert.deepEqual(lookAtSlices(next, withConfig({ isChanging: true }), actor).server.content, noContent);
});

test('a server that reports a number which had two contents here is not believed', () => {
  const restored = { ...actor, hadOtherContent: ({ revision }: ConfigContent) => revision === 7 };
  const numbersOnly = withConfig({ configSha256: '' });
  const { server: look } = lookAtSlices(wanted, numbersOnly, restored);
  assert.equal(look.at, 'not reported');
  assert.match(look.reason, /revision 7 without its content/);
  assert.equal(lookAtSlices(wanted, actual, restored).server.at, 'in effect', 'the content is reported');
});

test('a management server that sends no content: numbers are compared, and none is higher', () => {
  const plain = { ...wanted, configSha256: '' };
  const old = { ...install, look: { revision: 7, configSha256: '', desired: id } };
  const on = (revision: number): Actual => ({
    ...withConfig({ revision }),
    install: old,
    agentInstall: old,
    acted: { settings: { revision, configSha256: '' } },
  });
  assert.equal(lookAtSlices(plain, on(7), actor).settings.at, 'in effect');
  assert.equal(lookAtSlices(plain, on(7), actor).server.at, 'in effect');
  assert.equal(lookAtSlices(plain, on(8), actor).settings.at, 'lagging');
});
