// A used root becomes an image: it forgets which machine it was, and keeps its programs.
import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { lockFolder } from '@platform/kit/node';
import { FakeClock, tempFolder, type TempFolder } from '@platform/kit/testing';
import type { Io } from '../src/commands/command.ts';
import { Ended } from '../src/commands/exit-codes.ts';
import { prepare } from '../src/commands/prepare-image.ts';
import { markKey } from '../src/os/linux/networkmanager/profiles.ts';

const secret = 'secret-of-the-machine';
/** Files of a card, and whether an image keeps them. */
const files: Readonly<Record<string, boolean>> = {
  'etc/platform.json': false,
  'etc/platform.json.old': false,
  'etc/platform-defaults.json': true,
  'etc/machine-id': true,
  'etc/NetworkManager/system-connections/office.nmconnection': true,
  'opt/platform/bin/platform-agent': true,
  'opt/platform/bin/platform-server': true,
  'opt/platform/lib/gate': true,
  'opt/platform/versions/1.2.3-0123456789ab/platform-agent': true,
  'opt/platform/versions/1.2.3-0123456789ab/sha256': true,
  'opt/platform/state/platform-agent.previous': true,
  'opt/platform/state/pins.json': true,
  'opt/platform/state/tuf/1.root.json': true,
  'opt/platform/state/changes.json': true,
  'opt/platform/state/managed-files.json': true,
  'opt/platform/state/managed-files.json.last-good': true,
  'opt/platform/state/proven-time.json': true,
  'opt/platform/state/credentials.last-good': false,
  'opt/platform/state/set-up-code.json': false,
  'opt/platform/state/part.json': false,
  'opt/platform/state/config.json': false,
  'opt/platform/state/config.json.last-good': false,
  'opt/platform/state/applied.json': false,
  'opt/platform/state/run.json': false,
  'opt/platform/state/status.json': false,
  'opt/platform/state/system-upgrades.json': false,
  'opt/platform/state/orders.json': false,
  'opt/platform/state/platform-agent.bad': false,
  'opt/platform/state/what-a-later-version-stores.json': false,
  'opt/platform/spool/state': false,
  'opt/platform/spool/0000000001.seg': false,
  'opt/platform/samples/0000000001.seg': false,
  'opt/platform/log/agent.log': false,
  'opt/platform/cache/part/download': false,
  'opt/platform/server/config.json': false,
  'opt/platform/server/captures/image.jpg': false,
  'opt/platform/server/packages/model/model.onnx': true,
};

async function card(folder: TempFolder) {
  for (const name of Object.keys(files)) {
    await mkdir(path.dirname(folder.file(name)), { recursive: true });
    await writeFile(folder.file(name), name.endsWith('changes.json') ? '' : secret);
  }
  const profile = folder.file('etc/NetworkManager/system-connections/office.nmconnection');
  await writeFile(profile, `[connection]\nid=office\n[user]\n${markKey}=1\n`);
  const output: string[] = [];
  const io: Io = {
    env: {},
    clock: new FakeClock(),
    out: (text) => output.push(text),
    note: () => {},
    gone: new AbortController().signal,
    columns: undefined,
    ask: async () => undefined,
  };
  const given = {
    config: folder.file('etc/platform.json'),
    root: folder.file('opt/platform'),
    keepCredentials: false,
    keepServerData: false,
    networks: false,
    dryRun: false,
    json: false,
  };
  return {
    run: (more: Partial<typeof given> = {}) => prepare({ ...given, ...more }, io),
    text: () => output.splice(0).join('\n'),
    left: async () =>
      (await readdir(folder.path, { recursive: true, withFileTypes: true }))
        .filter((entry) => entry.isFile())
        .map((entry) => path.relative(folder.path, path.join(entry.parentPath, entry.name)))
        .toSorted(),
  };
}
const kept = Object.keys(files).filter((name) => files[name]);

test('everything of the machine goes, the programs stay; it says so, and a second time changes nothing', async () => {
  await using folder = await tempFolder();
  const on = await card(folder);
  const before = await on.left();
  assert.equal(await on.run({ dryRun: true }), 0);
  const plan = on.text();
  assert.match(plan, /^Would remove:\n {2}- the credentials: .*etc\/platform\.json, /);
  assert.deepEqual(await on.left(), before);

  assert.equal(await on.run(), 0);
  const text = on.text();
  assert.match(text, /^Removed:/);
  assert.match(text, /log lines that wait/);
  assert.match(text, /NOTE: The networks office stay with their passwords/);
  assert.match(text, /machine-id/);
  assert.deepEqual(await on.left(), kept.toSorted());
  assert.equal(await on.run(), 5);
  assert.match(on.text(), /was prepared already/);
  assert.deepEqual(await on.left(), kept.toSorted());
});

test('what is to stay, stays; the networks go when asked to', async () => {
  await using folder = await tempFolder();
  const on = await card(folder);
  assert.equal(await on.run({ keepCredentials: true, keepServerData: true, networks: true, json: true }), 0);
  const { is_changed: isChanged, kept: reported } = JSON.parse(on.text()) as { is_changed: boolean; kept: string[] };
  assert.equal(isChanged, true);
  assert.ok(reported.some((what) => what.includes('share one identity')));
  const left = await on.left();
  for (const name of [
    'etc/platform.json',
    'opt/platform/state/credentials.last-good',
    'opt/platform/server/captures/image.jpg',
  ])
    assert.ok(left.includes(name), name);
  assert.ok(!left.includes('etc/NetworkManager/system-connections/office.nmconnection'));
  assert.equal(await readFile(folder.file('etc/platform.json'), 'utf8'), secret);
});

test('it refuses while an agent runs, and while a version is on trial', async () => {
  await using folder = await tempFolder();
  const on = await card(folder);
  const before = await on.left();
  const refused = async (code: string): Promise<void> => {
    await assert.rejects(on.run(), (error) => error instanceof Ended && error.code === code && error.exitCode === 4);
  };
  {
    await using _lock = await lockFolder(folder.file('opt/platform/state/agent.lock'));
    await refused('AGENT_RUNNING');
  }
  await writeFile(folder.file('opt/platform/state/platform-agent.trial'), 'a b 1 0 0 cloud');
  await refused('IMAGE_NOT_PREPARED');
  assert.deepEqual(await on.left(), [...before, 'opt/platform/state/platform-agent.trial'].toSorted());
});
