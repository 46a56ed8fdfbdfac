// Edits of an operator on the command line: names, machines, revisions of a configuration, images.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { smallPng, tempFolder } from '@platform/kit/testing';
import { startCloud } from '../src/cloud-process.ts';
import { runCli } from '../src/up-process.ts';

type Json = Record<string, unknown>;

async function stage() {
  const cloud = await startCloud();
  const { ready } = cloud;
  const env = { PLATFORM_URL: ready.url, PLATFORM_API_KEY_ID: ready.api_key_id, PLATFORM_API_KEY: ready.api_key };
  const cli = (...args: string[]) => runCli(env, ...args);
  const json = async (...args: string[]): Promise<Json> => {
    const { code, stdout, stderr } = await cli(...args, '--json');
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout) as Json;
  };
  return { cli, json, [Symbol.asyncDispose]: () => cloud[Symbol.asyncDispose]() };
}

test('a machine is renamed and deleted, by name', async () => {
  await using s = await stage();
  const { machine_id: id } = await s.json('machine', 'create', 'press');
  await s.json('machine', 'create', 'lathe');
  assert.deepEqual(await s.json('machine', 'rename', 'press', 'press 2'), { id, name: 'press 2' });
  assert.equal((await s.cli('machine', 'show', 'press')).code, 4);
  assert.deepEqual(await s.json('machine', 'delete', 'press 2', '--yes'), { id, deleted: true });
  const again = await s.cli('machine', 'delete', 'press 2', '--yes');
  assert.equal(again.code, 4);
  assert.match(again.stderr, /MACHINE_NOT_FOUND/);
});

test('an ID is never taken for a name, and a shared name asks for the ID', async () => {
  await using s = await stage();
  const { machine_id: id, part_id: partId } = await s.json('machine', 'create', 'press');
  const refused = await s.cli('machine', 'create', String(id));
  assert.deepEqual(
    [refused.code, /it must not have the form of an ID/.test(refused.stderr)],
    [1, true],
    refused.stderr,
  );
  for (const name of [id, partId, 'press'].map(String))
    assert.equal((await s.json('machine', 'show', name))['machine_id'], id, name);
  assert.equal((await s.cli('machine', 'show', '11111111-2222-4333-8444-555555555555')).code, 4);
});

test('revisions are listed and rolled back; a save that crosses another is refused', async () => {
  await using s = await stage();
  await using folder = await tempFolder();
  await s.json('machine', 'create', 'press');
  const save = async (config: Json, ...flags: string[]) => {
    const file = folder.file('config.json');
    await writeFile(file, JSON.stringify(config));
    return s.cli('config', 'set', 'press', file, ...flags);
  };
  const settings = (minutes: number): Json => ({
    agent: { advanced_settings: { platform_server_start_timeout_minutes: minutes } },
  });
  assert.match((await save(settings(3))).stdout, /^Saved as revision 1\.$/m);
  assert.match((await save(settings(4))).stdout, /^Saved as revision 2\.$/m);
  const crossed = await save(settings(5), '--expect-revision', '1');
  assert.notEqual(crossed.code, 0);
  assert.match(crossed.stderr, /CONFIG_CONFLICT/);

  assert.equal((await s.json('config', 'rollback', 'press', '1'))['revision'], 3);
  assert.deepEqual((await s.json('config', 'get', 'press'))['config'], settings(3));
  const { revisions } = (await s.json('config', 'history', 'press')) as { revisions: Json[] };
  assert.deepEqual(
    revisions.map(({ revision }) => revision),
    [3, 2, 1],
  );
  assert.equal(revisions[0]?.['sha256'], revisions[2]?.['sha256'], 'the same configuration again');
  for (const [revision, says] of [
    ['3', /in force/],
    ['9', /revision/],
    ['one', /revision/],
  ] as const) {
    const refused = await s.cli('config', 'rollback', 'press', revision);
    assert.notEqual(refused.code, 0);
    assert.match(refused.stderr, says);
  }
});

test('config set keeps a pin that the file does not name, and says so', async () => {
  await using s = await stage();
  await using folder = await tempFolder();
  await s.json('machine', 'create', 'press');
  await s.cli('machine', 'pin', 'press', 'server', '2.2.0');
  const file = folder.file('config.json');
  const saved = async (config: Json) => {
    await writeFile(file, JSON.stringify(config));
    const { stderr } = await s.cli('config', 'set', 'press', file);
    return { stderr, config: (await s.json('config', 'get', 'press'))['config'] };
  };
  const kept = await saved({ agent: { advanced_settings: { debug: true } } });
  assert.match(kept.stderr, /Kept the pin of server at 2\.2\.0\..*machine unpin press server/);
  assert.deepEqual(kept.config, {
    agent: { advanced_settings: { debug: true }, version_control: { 'platform-server': '2.2.0' } },
  });
  const named = await saved({ agent: { version_control: { 'platform-server': 'stable' } } });
  assert.deepEqual(named.config, { agent: { version_control: { 'platform-server': 'stable' } } });
  const missing = await s.cli('config', 'set', 'press', folder.file('none.json'));
  assert.match(missing.stderr, /none\.json does not exist\.\nCheck the path/);
  assert.match((await s.cli('config', 'set', 'press', folder.path)).stderr, /FILE_IS_FOLDER/);
});

test('images are deleted for good, from every dataset', async () => {
  await using s = await stage();
  await using folder = await tempFolder();
  for (const n of [1, 2, 3]) await writeFile(folder.file(`${n}.png`), smallPng(`image ${n}`));
  await s.json('dataset', 'upload', 'parts', folder.path, '--create', '--label', 'bolt');
  await s.json('dataset', 'create', 'other');
  await s.json('dataset', 'add', 'other', '--from', 'parts');
  const deleted = await s.json('dataset', 'delete-images', 'parts', '--file', '2.png', '--yes');
  assert.equal(deleted['deleted'], 1);
  for (const name of ['parts', 'other']) {
    const { images } = (await s.json('dataset', 'images', name)) as { images: Json[] };
    assert.deepEqual(images.map((one) => one['file_name']).toSorted(), ['1.png', '3.png'], name);
  }
  const nothing = await s.cli('dataset', 'delete-images', 'parts', '--yes');
  assert.match(nothing.stderr, /give image IDs, or one of/);
});

test('what the organization stores, in words and as JSON', async () => {
  await using s = await stage();
  await s.json('machine', 'create', 'press');
  const { organization_id, ...usage } = await s.json('usage');
  assert.match(String(organization_id), /^[0-9a-f-]{36}$/);
  assert.deepEqual(usage, {
    used_bytes: 0,
    limit_bytes: null,
    files: 0,
    waiting_bytes: 0,
    arriving_bytes: 0,
    images: 0,
    readings: 0,
    datasets: 0,
    machines: 1,
    jobs: 0,
    package_versions: 0,
    log_bytes: 0,
  });
  const { stdout } = await s.cli('usage');
  assert.match(stdout, /^files +0 B in 0 \(no limit\)\n/);
  assert.match(stdout, /\nmachines +1\n/);
});
