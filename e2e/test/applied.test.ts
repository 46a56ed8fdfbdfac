// "In effect" over real processes: each slice of a machine reports what it has applied, and a failure is never in
// effect.
import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { plainEnvironment, spawnGroup, systemClock } from '@platform/kit/node';
import serverSchemas from '@platform/contract/gen/server-schemas.json' with { type: 'json' };
import { tempFolder } from '@platform/kit/testing';
import { colourImage } from '../../apps/machine-server/test/colour-images.ts';
import { clientOf, startCloud } from '../src/cloud-process.ts';
import { checkout, runCli } from '../src/up-process.ts';

/** Exit codes of the command line. */
const exitCodes = { savedWithWarnings: 8 };

type Json = Record<string, unknown>;
interface Slice {
  slice: string;
  state: string;
  applied_revision: number;
  code: string;
  reason: string;
  since: string;
  ineffective_paths: string[];
}
interface Shown {
  applied_revision: number;
  config_status: { state: string; reason: string; problem: { path: string; message: string } | null };
  slices: Slice[];
  conditions: { code: string; path: string; message: string }[];
}

const agentMain = path.join(checkout, 'apps/agent/src/main.ts');
const node = ['--disable-warning=ExperimentalWarning'];

test('story: each slice is applied when it has acted, and no failure is ever in effect', async () => {
  await using cloud = await startCloud();
  await using folder = await tempFolder();
  const { ready } = cloud;
  const env = {
    PLATFORM_URL: ready.url,
    PLATFORM_API_KEY_ID: ready.api_key_id,
    PLATFORM_API_KEY: ready.api_key,
    PLATFORM_RELEASE_KEYS: folder.file('keys'),
  };
  const json = async <T = Json>(...args: string[]): Promise<T> => {
    const { code, stdout, stderr } = await runCli(env, ...args, '--json');
    assert.equal(code, 0, `${args.join(' ')}: ${stderr}`);
    return JSON.parse(stdout) as T;
  };
  const set = async (config: object | string) => {
    await writeFile(folder.file('config.json'), typeof config === 'string' ? config : JSON.stringify(config));
    return runCli(env, 'config', 'set', 'press', folder.file('config.json'));
  };
  const saved = async (revision: number, config: object): Promise<string> => {
    const { code, stdout, stderr } = await set(config);
    assert.equal(code, /^warning /m.test(stdout) ? exitCodes.savedWithWarnings : 0, stderr);
    assert.match(stdout, new RegExp(`Saved as revision ${revision}\\.`));
    return stdout;
  };
  /** Polls the management server's view until the condition holds. */
  const until = async (what: string, isSo: (now: Shown) => boolean): Promise<Shown> => {
    const end = systemClock.now() + 90_000;
    for (;;) {
      const now = await json<Shown>('machine', 'show', 'press');
      if (isSo(now)) return now;
      assert.ok(systemClock.now() < end, `${what}; last: ${JSON.stringify(now.slices)}`);
      await systemClock.sleep(200);
    }
  };
  const of = (now: Shown, name: string): Slice => now.slices.find(({ slice }) => slice === name) ?? assert.fail(name);
  const isLagging = (now: Shown, slice: string, code: string): boolean =>
    now.slices.some((one) => one.slice === slice && one.state === 'lagging' && one.code === code);
  const words = async (): Promise<string> => (await runCli(env, 'machine', 'show', 'press')).stdout;
  /** Reads the agent's own status on the machine. */
  const status = async (): Promise<string> => {
    const args = [...node, agentMain, 'status', '--root', folder.file('agent')];
    const group = await spawnGroup({
      command: process.execPath,
      args,
      env: plainEnvironment(),
      logFile: folder.file('status'),
    });
    await group.exited;
    return readFile(folder.file('status'), 'utf8');
  };

  await json('release', 'keys', 'init', folder.file('keys'));
  const program = folder.file('server');
  const serverMain = pathToFileURL(path.join(checkout, 'apps/machine-server/src/main.ts')).href;
  await writeFile(program, `#!${process.execPath}\nimport(${JSON.stringify(serverMain)});\n`);
  const platform = `linux/${process.arch === 'arm64' ? 'arm64' : 'amd64'}`;
  await writeFile(`${program}.json`, JSON.stringify({ name: 'platform-server', version: '1.0.0', platform }));
  await json('release', 'publish', program, '--channel', 'stable');
  const { credentials } = await json<{ credentials: { cloud: { id: string } } }>('machine', 'create', 'press');
  await writeFile(folder.file('platform.json'), JSON.stringify(credentials), { mode: 0o600 });
  await mkdir(folder.file('images'));

  const camera = { name: 'yard', type: 'camera', model: 'folder', attributes: { path: folder.file('images') } };
  const debug = { agent: { advanced_settings: { debug: true } } };
  const good = { ...debug, components: [camera] };

  // The machine has not reported its server yet, so this is saved with a warning. It never comes into effect.
  assert.match(await saved(1, { components: [{ ...camera, model: 'webcam' }] }), /warning components\[0\]\.model/);
  await using _agent = await spawnGroup({
    command: process.execPath,
    args: [...node, agentMain, 'run', '--root', folder.file('agent'), '--config', folder.file('platform.json')],
    env: plainEnvironment(),
    logFile: folder.file('agent.log'),
  }).then((group) => ({ [Symbol.asyncDispose]: async () => void (await group.stop({ termMs: 20_000 })) }));
  const unknown = await until('the unknown model is reported', (now) => isLagging(now, 'server', 'RESOURCE_UNKNOWN'));
  assert.equal(unknown.applied_revision, 0);
  assert.equal(unknown.conditions.find(({ code }) => code === 'RESOURCE_UNKNOWN')?.path, 'components[0].model');
  assert.match(await words(), /^config +revision 1 saved, not in effect: .*webcam/m);
  assert.match(
    await words(),
    /server not in effect for .*: .*components\[0\]: it runs no camera "webcam" \(RESOURCE_UNKNOWN\)/,
  );
  assert.match(await status(), /^config +revision 1 not in effect;.*\n +but +server not in effect/m);

  // Each slice applied.
  await saved(2, good);
  const whole = await until(
    'everything is in effect, except for the camera without an image',
    (now) => now.applied_revision === 2 && now.config_status.problem !== null,
  );
  assert.equal(whole.config_status.state, 'in effect');
  assert.equal(whole.config_status.problem?.path, 'components[0].attributes.path', 'nothing reads the camera');
  assert.deepEqual(
    whole.slices.map(({ slice, state, applied_revision: revision }) => `${slice} ${state} ${revision}`),
    ['settings in effect 2', 'versions in effect 2', 'network no effect 0', 'system no effect 0', 'server in effect 2'],
  );
  assert.match(
    await words(),
    /^config +revision 2 in effect, but components\[0\]\.attributes\.path: The camera "yard" gives no image: the folder \S+ has no \.jpg or \.png file, since/m,
  );
  await writeFile(path.join(folder.file('images'), 'a.png'), await colourImage('red', { format: 'png' }));
  assert.match(await status(), /^config +revision 2 in effect, as the management server has it$/m);
  // Its schemas have arrived, and its report names them.
  const { fleetClient } = clientOf(ready);
  const { machine } = await fleetClient.getMachine({ id: credentials.cloud.id });
  const { schemasJson } = await fleetClient.getServerSchemas({ partId: machine?.partId ?? '' });
  assert.deepEqual(JSON.parse(schemasJson), serverSchemas);

  // The machine has now reported its server's abilities: the whole configuration is refused, with the path of each
  // error.
  const refusals: [config: object | string, path: string][] = [
    [{ components: [{ ...camera, model: 'webcam' }] }, 'components[0].model'],
    [{ components: [{ name: 'yard' }] }, 'components[0].type'],
    [
      { ...good, services: [{ name: 'keep', type: 'data_manager', attributes: { camera: 'yrad' } }] },
      'services[0].attributes.camera',
    ],
    ['{"components": [], "components": []}', 'components'],
  ];
  for (const [config, where] of refusals) {
    const { code, stderr } = await set(config);
    assert.equal(code, 1, where);
    assert.ok(stderr.includes(`error ${where}: `), stderr);
  }
  assert.equal((await json<{ revision: number }>('config', 'get', 'press')).revision, 2);

  // Fields that no agent applies are saved with a warning, and the machine reports them as ineffective.
  const ineffective: [agent: object, path: string, slice: string][] = [
    [
      { network_configuration: { hotspot_password: 'long enough' } },
      'agent.network_configuration.hotspot_password',
      'network',
    ],
    [
      { network_configuration: { device_reboot_after_offline_minutes: 60 } },
      'agent.network_configuration.device_reboot_after_offline_minutes',
      'network',
    ],
    [
      { additional_networks: [{ type: 'wifi', ssid: 'home', psk: '12345678' }] },
      'agent.additional_networks[0]',
      'network',
    ],
    [
      { system_configuration: { os_auto_upgrade_type: 'all' } },
      'agent.system_configuration.os_auto_upgrade_type',
      'system',
    ],
  ];
  let revision = 2;
  for (const [agent, where, slice] of ineffective) {
    revision++;
    const warnings = await saved(revision, { ...good, agent });
    assert.ok(warnings.includes(`warning ${where}: has no effect here`), warnings);
    const now = await until(
      `${where} is named`,
      (one) => one.applied_revision === revision && of(one, slice).ineffective_paths.length > 0,
    );
    assert.deepEqual([of(now, slice).state, of(now, slice).ineffective_paths], ['no effect', [where]]);
    assert.ok(now.conditions.some(({ code, path: place }) => code === 'NO_EFFECT_HERE' && place === where));
    assert.match(await words(), new RegExp(`^config +revision ${revision} partly in effect`, 'm'));
  }

  // Missing versions: of a program, and of a package.
  await saved(7, { ...good, agent: { version_control: { 'platform-server': '9.9.9' } } });
  const version = await until('the version is missed', (now) => isLagging(now, 'versions', 'RELEASE_NOT_FOUND'));
  assert.equal(version.applied_revision, 0, JSON.stringify(version.slices));
  assert.equal(version.config_status.state, 'not in effect');
  // A pin stays until it is removed.
  const stable = { ...good, agent: { version_control: { 'platform-server': 'stable' } } };
  const { org_id: org } = ready;
  const parts = { name: 'parts', package: `${org}/parts`, version: '7', type: 'ml_model' };
  const attributes = { model_path: '${packages.parts}/m.onnx', label_path: '${packages.parts}/labels.txt' };
  await saved(8, {
    ...stable,
    packages: [parts],
    services: [{ name: 'net', type: 'mlmodel', model: 'onnx_cpu', attributes }],
  });
  const missing = await until('the package is missed', (now) => isLagging(now, 'server', 'PACKAGE_NOT_FOUND'));
  assert.equal(missing.applied_revision, 0, 'no whole configuration is in effect now');
  assert.equal(missing.conditions.find(({ code }) => code === 'PACKAGE_NOT_FOUND')?.path, 'packages[0]');
  assert.match(await words(), /^config +revision 8 saved, not in effect: /m);

  // After the correction it is in effect again, and no error remains.
  await saved(9, stable);
  const again = await until(
    'it is in effect again',
    (now) => now.config_status.state === 'in effect' && now.conditions.length === 0,
  );
  assert.equal(again.applied_revision, 9);
  assert.deepEqual(again.conditions, []);
  assert.ok(again.slices.every(({ state }) => state !== 'lagging'));
});
