// Fragments on the command line: created, used by machines, changed with a look at what changes where, deleted.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { tempFolder } from '@platform/kit/testing';
import { startCloud } from '../src/cloud-process.ts';
import { runCli } from '../src/up-process.ts';

type Json = Record<string, unknown>;

test('a fragment is created, used, changed and deleted, by name', async () => {
  await using cloud = await startCloud();
  await using folder = await tempFolder();
  const { ready } = cloud;
  const env = { PLATFORM_URL: ready.url, PLATFORM_API_KEY_ID: ready.api_key_id, PLATFORM_API_KEY: ready.api_key };
  const cli = (...args: string[]) => runCli(env, ...args);
  const json = async (...args: string[]): Promise<Json> => {
    const { code, stdout, stderr } = await cli(...args, '--json');
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout) as Json;
  };
  const file = async (config: Json): Promise<string> => {
    const path = folder.file('config.json');
    await writeFile(path, JSON.stringify(config));
    return path;
  };
  const settings = (values: Json): Json => ({ agent: { advanced_settings: values } });
  assert.match((await cli('fragment', 'list')).stdout, /There are no fragments yet/);
  const { id } = await json('fragment', 'create', 'base', await file(settings({ debug: true })));
  for (const name of ['barn', 'yard']) {
    await json('machine', 'create', name);
    await json('config', 'set', name, await file({ fragments: [id] }));
  }
  const next = await file(settings({ debug: false }));
  const checked = await cli('fragment', 'update', 'base', next, '--check');
  assert.equal(checked.stdout, 'barn, yard:\n  changed agent.advanced_settings.debug\n', checked.stderr);
  const saved = await json('fragment', 'update', 'base', next, '--comment', 'quiet');
  assert.deepEqual([saved['revision'], saved['machine_parts']], [2, 2]);
  const shown = await json('fragment', 'show', 'base');
  assert.deepEqual(shown['fragment'], settings({ debug: false }));
  const history = (await json('config', 'history', 'barn'))['revisions'] as Json[];
  assert.deepEqual(
    history.map(({ comment, fragments }) => [comment, (fragments as Json[]).map(({ revision }) => revision)]),
    [
      ['Fragment base, revision 2: quiet', [2]],
      ['', [1]],
    ],
  );
  const merged = await json('config', 'get', 'barn', '--merged');
  assert.deepEqual(merged['config'], settings({ debug: false }));
  const versions = { agent: { version_control: { 'platform-server': 'dev' } } };
  const pinned = await json('fragment', 'create', 'pinned', await file(versions));
  await json('machine', 'create', 'field');
  await cli('config', 'set', 'field', await file({ fragments: [pinned['id']] }));
  await cli('machine', 'unpin', 'field', 'server');
  const unpinned = await json('config', 'get', 'field', '--merged');
  assert.deepEqual(unpinned['config'], { agent: { version_control: { 'platform-server': 'stable' } } });
  const broken = await cli('fragment', 'update', 'base', await file(settings({ debug: { $variable: { name: 'x' } } })));
  assert.match(broken.stderr, /FRAGMENT_BREAKS_MACHINES/);
  assert.match(broken.stdout, /error on barn, fragments\[0\]\.variables\.x: has no value/);
  assert.match((await cli('fragment', 'delete', 'base', '--yes')).stderr, /FRAGMENT_IN_USE.*barn, yard/s);
  for (const name of ['barn', 'yard']) await json('config', 'set', name, await file({}));
  assert.deepEqual(await json('fragment', 'delete', 'base', '--yes'), { id, deleted: true });
});
