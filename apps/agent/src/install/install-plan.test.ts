import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Facts, FoundFile } from './facts.ts';
import { neededBytes, refusalsOf, stepsOf, type DesiredInstallation, type Step } from './install-plan.ts';

const desired: DesiredInstallation = {
  root: '/opt/platform',
  credentialsFile: '/etc/platform.json',
  credentials: undefined,
  unitFile: '/etc/systemd/system/platform-agent.service',
  unitText: 'unit',
  gateFile: '/opt/platform/lib/gate',
  gateText: 'gate',
  environmentFile: '/opt/platform/state/environment',
  environmentText: '',
  unusableProxies: [],
  linkFile: '/usr/local/bin/platform-agent',
  linkTarget: '/opt/platform/bin/platform-agent',
  isStarted: true,
  usesSystemd: true,
  isForced: false,
  needsCredentials: true,
  isReplacing: false,
};
const file = (text: string, mode: number): FoundFile => ({ is: 'file', text, mode: 0o100000 | mode });
const laidDown: [string, FoundFile][] = [
  [desired.gateFile, file('gate', 0o755)],
  [desired.unitFile, file('unit', 0o644)],
  [desired.linkFile, { is: 'link', target: desired.linkTarget }],
];
const one = '1.0.0-aaaaaaaaaaaa';
const two = '2.0.0-bbbbbbbbbbbb';
const candidate = (id: string): Facts['candidate'] => ({
  file: '/tmp/platform-agent',
  id,
  version: id.slice(0, 5),
  sha256: '',
  sizeBytes: 1,
  refusal: undefined,
});
/** Version one is installed and runs. */
const installed: Facts = {
  isRoot: true,
  platform: 'linux/amd64',
  userlandBits: 64,
  isSystemdRunning: true,
  freeBytes: 1e9,
  noexecAt: undefined,
  exposed: [],
  others: [],
  candidate: candidate(one),
  stored: [one],
  quarantine: undefined,
  strayPid: undefined,
  installed: one,
  credentials: { at: 'usable', text: '{}', partId: 'part', appAddress: 'https://c' },
  files: new Map(laidDown),
  unit: { isActive: true, isEnabled: true, needsReload: false },
};
const bare: Facts = {
  ...installed,
  stored: [],
  installed: null,
  files: new Map(),
  unit: { isActive: false, isEnabled: false, needsReload: false },
};
const without = (name: string, ...more: [string, FoundFile][]): Facts['files'] =>
  new Map([...laidDown.filter(([path]) => path !== name), ...more]);

const short = (step: Step): string => {
  if (step.do === 'write' || step.do === 'link') return `${step.do} ${step.file}`;
  if (step.do === 'use') return `use ${step.id} before ${step.before}`;
  return 'id' in step ? `${step.do} ${step.id}` : step.do;
};

const plans: [name: string, facts: Facts, desired: Partial<DesiredInstallation>, steps: string[]][] = [
  ['everything is so already', installed, {}, []],
  [
    'a bare machine: laid down first, switched, then started',
    bare,
    {},
    [
      'make-folders',
      `stage ${one}`,
      `write ${desired.gateFile}`,
      `write ${desired.unitFile}`,
      `link ${desired.linkFile}`,
      `use ${one} before null`,
      'reload',
      'enable',
      'start',
    ],
  ],
  [
    'for the image of a disk: enabled, not started',
    { ...bare, isSystemdRunning: false },
    { isStarted: false },
    [
      'make-folders',
      `stage ${one}`,
      `write ${desired.gateFile}`,
      `write ${desired.unitFile}`,
      `link ${desired.linkFile}`,
      `use ${one} before null`,
      'enable',
    ],
  ],
  [
    'another version: the server goes on',
    { ...installed, candidate: candidate(two) },
    {},
    ['make-folders', `stage ${two}`, `use ${two} before ${one}`, 'hand-over'],
  ],
  [
    'a version that is stored already',
    { ...installed, candidate: candidate(two), stored: [two, one] },
    {},
    [`use ${two} before ${one}`, 'hand-over'],
  ],
  [
    'a changed unit',
    { ...installed, files: without(desired.unitFile, [desired.unitFile, file('old', 0o644)]) },
    {},
    [`write ${desired.unitFile}`, 'reload', 'restart'],
  ],
  [
    'a unit that others may write',
    { ...installed, files: without(desired.unitFile, [desired.unitFile, file('unit', 0o666)]) },
    {},
    [`write ${desired.unitFile}`, 'reload', 'restart'],
  ],
  [
    'a lost gate: no restart for it',
    { ...installed, files: without(desired.gateFile) },
    {},
    [`write ${desired.gateFile}`],
  ],
  [
    'a link to something else',
    { ...installed, files: without(desired.linkFile, [desired.linkFile, { is: 'link', target: '/x' }]) },
    {},
    [`link ${desired.linkFile}`],
  ],
  [
    'credentials that others can read: closed, and no restart for it',
    { ...installed, files: new Map([...laidDown, [desired.credentialsFile, file('{}', 0o644)]]) },
    {},
    [`write ${desired.credentialsFile}`],
  ],
  [
    'credentials of another machine',
    {
      ...installed,
      files: new Map([...laidDown, [desired.credentialsFile, file('{}', 0o600)]]),
      exposed: [{ path: desired.credentialsFile, because: 'owner 1000, mode 600' }],
    },
    {},
    [`write ${desired.credentialsFile}`],
  ],
  ['new proxies', installed, { environmentText: 'a="b"\n' }, [`write ${desired.environmentFile}`, 'reload', 'restart']],
  [
    'new credentials',
    installed,
    { credentials: { text: '{"new": 1}', partId: 'part' } },
    [`write ${desired.credentialsFile}`, 'restart'],
  ],
  [
    'a version that failed here, by force',
    { ...installed, candidate: candidate(two), stored: [one, two], quarantine: 'it crashed' },
    { isForced: true },
    [`use ${two} before ${one}`, `clear-quarantine ${two}`, 'hand-over'],
  ],
  ['a stopped agent', { ...installed, unit: { ...installed.unit, isActive: false } }, {}, ['start']],
  ['one that is not started at boot', { ...installed, unit: { ...installed.unit, isEnabled: false } }, {}, ['enable']],
  [
    'in place of another agent',
    { ...bare, others: [{ unit: 'viam-agent.service', file: '/etc/x', isActive: true }] },
    { isReplacing: true, usesSystemd: false },
    [
      'stop-other',
      'make-folders',
      `stage ${one}`,
      `write ${desired.gateFile}`,
      `write ${desired.unitFile}`,
      `link ${desired.linkFile}`,
      `use ${one} before null`,
    ],
  ],
];
for (const [name, facts, change, steps] of plans) {
  test(`plan: ${name}`, () => assert.deepEqual(stepsOf(facts, { ...desired, ...change }).map(short), steps));
}

const refused: [facts: Partial<Facts>, desired: Partial<DesiredInstallation>, codes: string[]][] = [
  [{}, {}, []],
  [{ isRoot: false }, {}, ['NOT_ROOT']],
  [{ isRoot: false }, { usesSystemd: false }, []],
  [{}, { unusableProxies: ['https_proxy=socks5://p: no.'] }, ['PROXY_UNSUPPORTED']],
  [{ exposed: [{ path: '/opt', because: 'owner 1000, mode 755' }] }, {}, ['EXPOSED']],
  [{ exposed: [{ path: '/opt', because: 'owner 1000, mode 755' }] }, { usesSystemd: false }, []],
  [{ exposed: [{ path: desired.credentialsFile, because: 'owner 1000, mode 600' }] }, {}, []],
  [{ platform: 'darwin/arm64' }, {}, ['NOT_LINUX']],
  [{ userlandBits: 32 }, {}, ['USERLAND_32_BIT']],
  [{ userlandBits: undefined }, {}, []],
  [{ isSystemdRunning: false }, {}, ['NO_SYSTEMD']],
  [{ isSystemdRunning: false }, { isStarted: false }, []],
  [{ freeBytes: neededBytes - 1, stored: [] }, {}, ['DISK_FULL']],
  [{ freeBytes: neededBytes, stored: [] }, {}, []],
  [{ noexecAt: '/opt' }, {}, ['ROOT_NOEXEC']],
  [{ freeBytes: 0 }, {}, []], // the version is stored already
  [{ candidate: { ...candidate(one), refusal: 'it is not a program' } }, {}, ['PROGRAM_UNUSABLE']],
  [{ others: [{ unit: 'viam-agent.service', file: '/etc/x', isActive: true }] }, {}, ['OTHER_AGENT']],
  [{ others: [{ unit: 'viam-agent.service', file: '/etc/x', isActive: true }] }, { isReplacing: true }, []],
  [{ quarantine: 'it crashed' }, {}, ['QUARANTINED']],
  [{ quarantine: 'it crashed' }, { isForced: true }, []],
  [{ strayPid: 7 }, {}, ['AGENT_RUNNING']],
  [{ strayPid: 7 }, { usesSystemd: false }, []],
  [{ credentials: { at: 'none' } }, {}, ['NO_CREDENTIALS']],
  [{ credentials: { at: 'unusable', problem: 'x' } }, {}, ['NO_CREDENTIALS']],
  [{ credentials: { at: 'none' } }, { needsCredentials: false }, []],
  [{ credentials: { at: 'unusable', problem: 'x' } }, { needsCredentials: false }, ['NO_CREDENTIALS']],
  [{ credentials: { at: 'none' } }, { credentials: { text: '', partId: 'part' } }, []],
  [{}, { credentials: { text: '', partId: 'other' } }, ['OTHER_CREDENTIALS']],
  [{}, { credentials: { text: '', partId: 'other' }, isForced: true }, []],
  [
    { isRoot: false, userlandBits: 32, credentials: { at: 'none' } },
    {},
    ['NOT_ROOT', 'USERLAND_32_BIT', 'NO_CREDENTIALS'],
  ],
];
for (const [facts, change, codes] of refused) {
  test(`refusals: ${Object.keys({ ...facts, ...change }).join(', ') || 'none'} → ${codes.join(', ') || 'none'}`, () => {
    const list = refusalsOf({ ...installed, ...facts }, { ...desired, ...change });
    assert.deepEqual(
      list.map(({ code }) => code),
      codes,
    );
    for (const { what, remedy } of list) assert.ok(what.endsWith('.') && remedy.endsWith('.'), `${what} ${remedy}`);
  });
}
