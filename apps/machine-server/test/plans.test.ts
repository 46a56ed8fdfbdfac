import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PackageSpec, ResourceSpec } from '../src/machine-config.ts';
import { packageKey, plan as planPackages } from '../src/plans/packages.ts';
import { keyOf, plan, resolve } from '../src/plans/resources.ts';
import type { InstalledPackage, Step } from '../src/plans/resources.ts';
import { maintenanceReading, mayRestart } from '../src/restart.ts';
import type { SensorAnswer } from '../src/restart.ts';

const camera = (name: string, folder = '/a'): ResourceSpec => ({ is: 'folder camera', name, folder, intervalMs: 0 });
const net: ResourceSpec = {
  is: 'model',
  name: 'net',
  modelPath: '${packages.m}/m.onnx',
  labelPath: '${packages.ml_model.m}/l',
};
const version = (v: string): InstalledPackage => ({
  name: 'm',
  id: 'org/model-m',
  version: v,
  folder: `/store/m-${v}`,
});
const packagesAt = (v?: string) => new Map(v === undefined ? [] : [['m', version(v)]]);
const keyWith = (spec: ResourceSpec, v?: string): string => {
  const resolved = resolve(spec, packagesAt(v));
  assert.ok(resolved.ok);
  return keyOf(resolved.spec);
};

const show = (steps: readonly Step[]) =>
  steps.map((step) => (step.do === 'settle' ? `settle ${step.revision}` : `${step.do} ${step.name}`)).join(', ');

test('resources: from what runs to what is wanted', () => {
  const rows: [
    name: string,
    want: [revision: number, resources: ResourceSpec[], installed?: string],
    have: [revision: number, running: [string, string][], failed?: string[]],
    steps: string,
  ][] = [
    ['nothing wanted, nothing there', [0, []], [0, []], ''],
    ['the first', [1, [camera('a')]], [0, []], 'start a'],
    ['all there, revision not reported', [1, [camera('a')]], [0, [['a', keyWith(camera('a'))]]], 'settle 1'],
    ['all there', [1, [camera('a')]], [1, [['a', keyWith(camera('a'))]]], ''],
    ['another folder', [2, [camera('a', '/b')]], [1, [['a', keyWith(camera('a'))]]], 'replace a'],
    ['one gone, one new', [2, [camera('b')]], [1, [['a', keyWith(camera('a'))]]], 'stop a, start b'],
    ['only the revision is new', [3, [camera('a')]], [2, [['a', keyWith(camera('a'))]]], 'settle 3'],
    ['a model without its package waits', [1, [net, camera('a')]], [0, []], 'start a'],
    ['a model with its package', [1, [net], '1'], [1, []], 'start net'],
    ['a model with a newer package', [1, [net], '2'], [1, [['net', keyWith(net, '1')]]], 'replace net'],
    ['the package went away', [2, [net]], [1, [['net', keyWith(net, '1')]]], 'stop net'],
    ['what failed rests', [1, [net], '2'], [1, [['net', keyWith(net, '1')]], [keyWith(net, '2')]], ''],
    ['a failed resource does not delay the revision', [2, [net], '2'], [1, [], [keyWith(net, '2')]], 'settle 2'],
  ];
  for (const [name, [revision, resources, installed], [had, running, failed = []], steps] of rows) {
    const want = { revision, configSha256: `of ${revision}`, resources, packages: packagesAt(installed) };
    const have = { revision: had, configSha256: `of ${had}`, running: new Map(running), failed: new Set(failed) };
    assert.equal(show(plan(want, have)), steps, name);
  }
});

test('a model is made of the folder of its package and says so', () => {
  const resolved = resolve(net, packagesAt('4'));
  assert.deepEqual(resolved, {
    ok: true,
    spec: {
      ...net,
      modelPath: '/store/m-4/m.onnx',
      labelPath: '/store/m-4/l',
      origin: { model: 'model-m', version: '4' },
    },
  });
  assert.deepEqual(resolve(net, packagesAt()), { ok: false, waitsFor: 'm' });
  const plain = { ...net, modelPath: '/opt/m.onnx', labelPath: '/opt/l' };
  assert.deepEqual(resolve(plain, packagesAt()), { ok: true, spec: plain });
});

const spec = (v: string, id = 'org/model-m'): PackageSpec => ({ name: 'm', id, version: v });

test('packages: from what lies there to what is wanted', () => {
  const rows: [string, PackageSpec[], string | undefined, PackageSpec[], string[]][] = [
    ['the first', [spec('1')], undefined, [], ['install 1']],
    ['there', [spec('1')], '1', [], []],
    ['newer', [spec('2')], '1', [], ['install 2']],
    ['of another model', [spec('1', 'org/other')], '1', [], ['install 1']],
    ['failed a moment ago', [spec('2')], '1', [spec('2')], []],
    ['another one failed', [spec('3')], '1', [spec('2')], ['install 3']],
    ['no longer wanted', [], '1', [], ['forget m']],
  ];
  for (const [name, want, installed, failed, steps] of rows) {
    const have = { installed: packagesAt(installed), failed: new Set(failed.map(packageKey)) };
    const got = planPackages(want, have).map(
      (step) => `${step.do} ${step.do === 'install' ? step.version : step.name}`,
    );
    assert.deepEqual(got, steps, name);
  }
});

test('restart: only a boolean true of the maintenance sensor allows it', () => {
  const rows: [SensorAnswer, boolean, RegExp][] = [
    [{ at: 'read', readings: { open: true } }, true, /hatch\.open is true/],
    [{ at: 'read', readings: { open: false } }, false, /is false/],
    [{ at: 'read', readings: { open: 1 } }, false, /must be true or false, it is 1/],
    [{ at: 'read', readings: {} }, false, /it is absent/],
    [{ at: 'failed', problem: 'unplugged' }, false, /unplugged/],
    [{ at: 'missing' }, true, /no sensor named "hatch"/],
  ];
  for (const [answer, allowed, reading] of rows) {
    const got = maintenanceReading('hatch', 'open', answer);
    assert.equal(got.allowed, allowed);
    assert.match(got.reading, reading);
    assert.deepEqual([mayRestart(false, got), mayRestart(true, got)], [allowed, false]);
  }
  assert.deepEqual([mayRestart(false, undefined), mayRestart(true, undefined)], [true, false]);
});
