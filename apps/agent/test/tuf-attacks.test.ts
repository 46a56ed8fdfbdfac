import assert from 'node:assert/strict';
import { readFile, readdir, rm, writeFile } from 'node:fs/promises';
import test from 'node:test';
import { FakeClock } from '@platform/kit/testing';
import { readRoot, readTargets, rolesOf, signTargets } from '@platform/releases/documents';
import { nextTargets } from '@platform/releases/publication';
import { pinRoot } from '../src/versions/trust/trust.ts';
import { newKey, newRing, patch, program, Repository, sha256Of } from './release-repository.ts';
import { day, hour, none, start, world, type World } from './tuf-world.ts';

test('what is signed is trusted: sizes and hashes come from the release keys', async () => {
  await using w = await world();
  const [one, two] = [program('1.0.0'), program('1.1.0')];
  assert.deepEqual(await w.check(one, { sha256: '' }), { sha256: one.sha256, sizeBytes: one.sizeBytes });
  const between = patch(one, two, 'patch');
  w.repository.publish(two, between);
  assert.equal(await w.outcome(two), 'trusted');
  assert.deepEqual(
    await w.machine().patch({ fromSha256: one.sha256, toSha256: two.sha256, sha256: between.sha256 }, none),
    { sha256: between.sha256, sizeBytes: 5 },
  );
  await assert.rejects(
    w.machine().patch({ fromSha256: two.sha256, toSha256: one.sha256, sha256: between.sha256 }, none),
    { code: 'RELEASE_UNTRUSTED' },
  );
  // A check without changes requests only the next root and the timestamp.
  w.repository.asked.length = 0;
  assert.equal(await w.outcome(two), 'trusted');
  assert.deepEqual(w.repository.asked, ['2.root.json', 'timestamp.json']);
});

test('tuf_arbitrary_software', async () => {
  await using w = await world();
  const one = program('1.0.0');
  assert.equal(await w.outcome(one, { sha256: sha256Of('other bytes') }), 'RELEASE_UNTRUSTED');
  assert.equal(await w.outcome(program('6.6.6')), 'RELEASE_UNTRUSTED', 'an unsigned version');
  // Change one byte of each document.
  for (const name of ['timestamp.json', '1.snapshot.json', '1.targets.json']) {
    await using fresh = await world();
    const bytes = fresh.repository.pages.get(name);
    assert.ok(Buffer.isBuffer(bytes));
    const changed = Buffer.from(bytes);
    const at = changed.indexOf('"version":') + '"version":'.length;
    changed[at] = '7'.charCodeAt(0);
    fresh.repository.pages.set(name, changed);
    assert.equal(await fresh.outcome(one), 'RELEASE_UNTRUSTED', name);
    fresh.repository.pages.set(name, Buffer.from('<html>no</html>'));
    assert.equal(await fresh.outcome(one), 'RELEASE_UNTRUSTED', name);
  }
  // Serve an attacker's complete list with the attacker's own timestamp.
  const attacker = newRing();
  const theirs = new Repository({ ring: attacker, now: start });
  theirs.publish(program('6.6.6'));
  w.repository.forgeOnline(9, theirs.targets, [newKey()]);
  assert.equal(await w.outcome(program('6.6.6')), 'RELEASE_UNTRUSTED');
});

test('tuf_rollback', async () => {
  await using w = await world();
  const old = w.repository.copy();
  const next = program('1.1.0');
  w.repository.publish(next);
  assert.equal(await w.outcome(next), 'trusted');
  w.repository.pages.clear();
  for (const [name, page] of old) w.repository.pages.set(name, page);
  assert.equal(await w.outcome(program('1.0.0')), 'RELEASE_UNTRUSTED');
  // The floor also holds after the machine loses its documents.
  await w.forget();
  assert.equal(await w.outcome(program('1.0.0')), 'RELEASE_UNTRUSTED');
  assert.match(w.log(), /trusting the release keys/);
  // The stored documents also hold after it loses the floor, even the timestamp alone.
  await using fresh = await world();
  for (const change of ['a new list', 'a new timestamp'] as const) {
    const before = fresh.repository.copy();
    fresh.repository.now += 2 * hour;
    if (change === 'a new list') fresh.repository.publish(next);
    else fresh.repository.renew();
    assert.equal(await fresh.outcome(next), 'trusted');
    for (const name of ['floor.json', 'floor.json.last-good'])
      await rm(fresh.folder.file('state', 'tuf', name), { force: true });
    const after = fresh.repository.copy();
    for (const [name, page] of before) fresh.repository.pages.set(name, page);
    assert.equal(await fresh.outcome(program('1.0.0')), 'RELEASE_UNTRUSTED', change);
    for (const [name, page] of after) fresh.repository.pages.set(name, page);
  }
});

test('tuf_freeze', async () => {
  await using w = await world();
  const one = program('1.0.0');
  assert.equal(await w.outcome(one), 'trusted');
  w.time.now = start + 23 * hour;
  assert.equal(await w.outcome(one), 'trusted', 'a timestamp holds for a day');
  w.time.now = start + 25 * hour;
  assert.equal(await w.outcome(one), 'METADATA_EXPIRED');
  w.repository.now = w.time.now;
  w.repository.renew();
  assert.equal(await w.outcome(one), 'trusted');
  // Only the publisher can renew the targets.
  w.time.now = w.repository.now = start + 91 * day;
  w.repository.renew();
  assert.equal(await w.outcome(one), 'METADATA_EXPIRED');
});

test('tuf_fast_forward', async () => {
  await using w = await world();
  const one = program('1.0.0');
  // An attacker with the server's key can raise the versions and so lock the machine out …
  const thief = w.repository.online;
  const honest = { snapshot: w.repository.snapshot, timestamp: w.repository.timestamp };
  w.repository.forgeOnline(2 ** 31, w.repository.targets, [thief]);
  assert.equal(await w.outcome(one), 'trusted');
  assert.ok(honest.snapshot && honest.timestamp);
  w.repository.serveSnapshot(honest.snapshot);
  w.repository.serveTimestamp(honest.timestamp);
  assert.equal(await w.outcome(one), 'RELEASE_UNTRUSTED');
  // … until the owners of the root keys replace the server's key.
  w.repository.online = newKey();
  w.repository.rotate((roles) => ({ ...roles, online: [w.repository.online.publicKey] }));
  w.repository.renew();
  assert.ok(w.repository.timestampVersion < 10);
  assert.equal(await w.outcome(one), 'trusted');
  w.repository.forgeOnline(2 ** 31, w.repository.targets, [thief]);
  assert.equal(await w.outcome(one), 'RELEASE_UNTRUSTED', 'the stolen key is worth nothing now');
});

test('tuf_mix_and_match', async () => {
  await using w = await world();
  const [first, ...later] = ['1.1.0', '1.2.0'].map((version) => program(version));
  const oldTargets = w.repository.targets;
  assert.ok(first);
  w.repository.publish(first, ...later);
  // Serve the previous list under the current name, below the current snapshot.
  w.repository.pages.set('2.targets.json', oldTargets);
  assert.equal(await w.outcome(program('1.0.0')), 'RELEASE_UNTRUSTED');
  // Serve the previous snapshot under the current name, below the current timestamp.
  await using fresh = await world();
  const oldSnapshot = fresh.repository.snapshot;
  assert.ok(oldSnapshot);
  fresh.repository.publish(first);
  fresh.repository.pages.set('2.snapshot.json', oldSnapshot);
  assert.equal(await fresh.outcome(first), 'RELEASE_UNTRUSTED');
});

test('tuf_endless_data', async () => {
  await using w = await world();
  for (const name of ['2.root.json', 'timestamp.json', '1.snapshot.json', '1.targets.json']) {
    const before = w.repository.pages.get(name);
    const sent = { bytes: 0, isEnded: false };
    w.repository.pages.set(name, (response) => {
      response.writeHead(200);
      response.on('close', () => (sent.isEnded = true));
      const more = (): void => {
        while (!sent.isEnded && sent.bytes < 100e6) {
          sent.bytes += 65_536;
          if (!response.write(Buffer.alloc(65_536, 32))) return void response.once('drain', more);
        }
      };
      more();
    });
    assert.equal(await w.outcome(program('1.0.0')), 'RELEASE_UNTRUSTED', name);
    assert.ok(sent.bytes < 20e6, `${name}: ${sent.bytes} bytes were taken`);
    if (before) w.repository.pages.set(name, before);
    else w.repository.pages.delete(name);
  }
  assert.equal(await w.outcome(program('1.0.0')), 'trusted');
});

test('tuf_slow_retrieval', async () => {
  const clock = new FakeClock();
  await using w = await world({ clock });
  // Sends a byte now and then: the connection stays alive, the document never ends.
  const open: { end: () => void }[] = [];
  const page = w.repository.timestamp;
  assert.ok(page);
  w.repository.pages.set('timestamp.json', (response) => {
    response.writeHead(200);
    response.write(page.subarray(0, 1));
    open.push({ end: () => response.end() });
  });
  const result = { text: '' };
  const work = w.outcome(program('1.0.0')).then((text) => (result.text = text));
  while (result.text === '') {
    await clock.advance(20_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await work;
  assert.equal(result.text, 'METADATA_UNREACHABLE');
  assert.equal(clock.pending, 0);
  for (const one of open) one.end();
  w.repository.pages.set('timestamp.json', page);
  assert.equal(await w.outcome(program('1.0.0')), 'trusted');
});

test('tuf_wrong_binary_for_the_platform', async () => {
  await using w = await world();
  const [arm, server] = [program('1.0.0', 'linux/arm64'), program('1.0.0', 'linux/amd64', 'platform-server')];
  w.repository.publish(arm, server);
  const [here] = [program('1.0.0')];
  assert.equal(await w.outcome(arm), 'trusted', 'on its own kind of machine');
  assert.equal(await w.outcome(arm, { platform: 'linux/amd64' }), 'RELEASE_UNTRUSTED');
  assert.equal(await w.outcome(here, { target: server.path, sha256: server.sha256 }), 'RELEASE_UNTRUSTED');
  assert.equal(await w.outcome(here, { target: 'platform-agent/1.1.0/linux-amd64' }), 'RELEASE_UNTRUSTED');
});

test('a signed entry whose path and words disagree is used for neither', async () => {
  await using w = await world();
  const [here, arm] = [program('1.0.0'), program('1.0.0', 'linux/arm64')];
  const [from, to] = [program('1.0.0'), program('1.1.0')];
  const between = patch(from, to, 'patch');
  const elsewhere = { from_sha256: `${from.sha256.slice(0, 12)}${'0'.repeat(52)}`, to_sha256: to.sha256 };
  const strange = [
    { ...here, custom: arm.custom },
    { ...arm, custom: here.custom },
    { ...between, custom: elsewhere },
  ];
  const { ring, targets } = w.repository;
  const version = readTargets(targets).signed.version + 1;
  w.repository.forgeOnline(2, signTargets({ version, targets: strange, now: start, keys: ring.targets }), [
    w.repository.online,
  ]);
  assert.equal(await w.outcome(here), 'RELEASE_UNTRUSTED');
  assert.equal(await w.outcome(here, { target: arm.path, sha256: arm.sha256 }), 'RELEASE_UNTRUSTED');
  await assert.rejects(
    w.machine().patch({ fromSha256: from.sha256, toSha256: to.sha256, sha256: between.sha256 }, none),
    { code: 'RELEASE_UNTRUSTED' },
  );
});

test('tuf_key_compromise_below_the_threshold', async () => {
  await using w = await world();
  const evil = program('6.6.6');
  assert.equal(await w.outcome(program('1.0.0')), 'trusted');
  // One of two root keys cannot sign a new root.
  const stolen = w.repository.ring.root.slice(0, 1);
  const roles = rolesOf(w.repository.root);
  const mine = newRing();
  w.repository.forgeRoot(2, { ...roles, targets: { keys: [mine.targets[0]!.publicKey], threshold: 1 } }, [
    ...stolen,
    ...mine.root,
  ]);
  assert.equal(await w.outcome(evil), 'RELEASE_UNTRUSTED');
  w.repository.pages.delete('2.root.json');
  // The server's key cannot sign new files.
  const listed = nextTargets({ root: w.repository.root, targets: w.repository.targets }, w.repository.ring, start);
  const forged = new Repository({ ring: mine, now: start });
  forged.publish(evil, evil);
  forged.publish(evil);
  w.repository.forgeOnline(2, forged.targets, [w.repository.online]);
  assert.equal(await w.outcome(evil), 'RELEASE_UNTRUSTED');
  // The same version with the publisher's signature is accepted, so the missing key caused the rejection.
  w.repository.forgeOnline(3, listed.targets, [w.repository.online]);
  assert.equal(await w.outcome(program('1.0.0')), 'trusted');
});

test('tuf_root_rotation', async () => {
  await using w = await world();
  const one = program('1.0.0');
  assert.equal(await w.outcome(one), 'trusted');
  // Two root documents change while the machine is offline: one replaces a lost key, one the targets keys.
  const next = newRing();
  const [kept, also] = w.repository.ring.root;
  assert.ok(kept && also);
  const ring = { ...w.repository.ring, root: [kept, also, newKey()] };
  w.repository.rotate(
    (roles) => ({ ...roles, root: { keys: ring.root.map((key) => key.publicKey), threshold: 2 } }),
    ring,
  );
  w.repository.rotate(
    (roles) => ({
      ...roles,
      targets: { keys: next.targets.map((key) => key.publicKey), threshold: 1 },
      installerKey: next.installer[0]!.publicPem,
    }),
    { ...next, root: ring.root },
  );
  w.repository.publish(program('1.1.0'));
  assert.equal(await w.outcome(program('1.1.0')), 'trusted');
  assert.equal(readRoot(await readFile(w.folder.file('state/tuf/root.json'))).signed.version, 3);

  // Only one of the two keys signs the next root. The machine rejects it and keeps its current root.
  const half = newRing();
  w.repository.forgeRoot(4, rolesOf(w.repository.root), [kept, ...half.root]);
  assert.equal(await w.outcome(one), 'RELEASE_UNTRUSTED');
  w.repository.pages.delete('4.root.json');
  assert.equal(await w.outcome(one), 'trusted');
});

test('tuf_torn_local_metadata', async () => {
  await using w = await world();
  const next = program('1.1.0');
  w.repository.publish(next);
  assert.equal(await w.outcome(next), 'trusted');
  w.repository.rotate((roles) => roles);
  assert.equal(await w.outcome(next), 'trusted');
  const place = (name: string) => w.folder.file('state', 'tuf', name);
  const names = (await readdir(place('.'))).filter((name) => name.endsWith('.json'));
  assert.deepEqual(names.toSorted(), ['floor.json', 'root.json', 'snapshot.json', 'targets.json', 'timestamp.json']);
  for (const name of [...names, 'all of them']) {
    const files = name === 'all of them' ? names.filter((one) => one !== 'floor.json') : [name];
    for (const damage of ['half', 'empty', 'zeros', 'gone'] as const) {
      for (const file of files) {
        const whole = await readFile(place(file));
        if (damage === 'gone') await rm(place(file));
        else if (damage === 'half') await writeFile(place(file), whole.subarray(0, whole.length / 2));
        else await writeFile(place(file), Buffer.alloc(damage === 'zeros' ? whole.length : 0));
      }
      assert.equal(await w.outcome(next), 'trusted', `${name} ${damage}`);
      for (const file of files) JSON.parse((await readFile(place(file), 'utf8')).replace(/^[0-9a-f]{8} /, ''));
    }
  }
  // The machine rejects another owner's root, although it and all documents below it are consistent.
  await rm(place('root.json'));
  const other = new Repository({ now: start });
  other.rotate((roles) => roles);
  other.publish(next);
  other.forgeOnline(9, other.targets, [other.online]);
  for (const [name, page] of other.pages) w.repository.pages.set(name, page);
  assert.equal(await w.outcome(next), 'RELEASE_UNTRUSTED');
});

test('a file without the signature of a release key needs consent', async () => {
  await using w = await world();
  assert.equal(await w.outcome(program('1.0.0'), { target: '' }), 'RELEASE_UNSIGNED');
});

test('the first root document: over https, from this machine, or by hand', async () => {
  await using w = await world();
  const claim = { target: 'platform-agent/1.0.0/linux-amd64', program: 'platform-agent', version: '1.0.0' };
  const all = { ...claim, platform: 'linux/amd64', sha256: '' };
  await assert.rejects(w.machine('http://releases.example').check(all, none), { code: 'TRUSTED_ROOT_MISSING' });
  assert.deepEqual(w.repository.asked, []);
  // With a root pinned by hand, the machine rejects another server's documents.
  const other = new Repository({ now: start });
  await assert.rejects(pinRoot(w.disk, Buffer.from('{}')), { code: 'RELEASE_UNTRUSTED' });
  await pinRoot(w.disk, other.root);
  assert.equal(await w.outcome(program('1.0.0')), 'RELEASE_UNTRUSTED');
  await pinRoot(w.disk, w.repository.root);
  assert.equal(await w.outcome(program('1.0.0')), 'trusted');
  // Pinning the same root or its successor keeps the known versions, which prevents a rollback to old lists.
  const old = w.repository.copy();
  w.repository.publish(program('1.1.0'));
  assert.equal(await w.outcome(program('1.1.0')), 'trusted');
  const first = w.repository.root;
  w.repository.rotate((roles) => roles);
  for (const root of [first, w.repository.root]) {
    await pinRoot(w.disk, root);
    for (const [name, page] of old) w.repository.pages.set(name, page);
    assert.equal(await w.outcome(program('1.0.0')), 'RELEASE_UNTRUSTED');
  }
  // A different root starts without known versions.
  const another = new Repository({ now: start });
  another.publish(program('1.0.0'));
  w.repository.pages.clear();
  for (const [name, page] of another.pages) w.repository.pages.set(name, page);
  assert.equal(await w.outcome(program('1.0.0')), 'RELEASE_UNTRUSTED');
  await pinRoot(w.disk, another.root);
  assert.equal(await w.outcome(program('1.0.0')), 'trusted');
});

test('a server without signed releases, that fails, or redirects: reported, and tried again later', async () => {
  await using w = await world();
  const outcomes: string[] = [];
  const attempt = async (w2: World): Promise<void> => void outcomes.push(await w2.outcome(program('1.0.0')));
  const pages = w.repository.copy();
  w.repository.pages.clear();
  await attempt(w);
  for (const [name, page] of pages) w.repository.pages.set(name, page);
  for (const status of [500, 302, 204]) {
    w.repository.pages.set('timestamp.json', (response) => response.writeHead(status, { location: '/x' }).end());
    await attempt(w);
  }
  w.repository.pages.set('timestamp.json', (response) => {
    response.writeHead(200, { 'content-length': '1000' }).write('{');
    response.destroy();
  });
  await attempt(w);
  const unreachable = 'METADATA_UNREACHABLE';
  assert.deepEqual(outcomes, [unreachable, unreachable, 'RELEASE_UNTRUSTED', unreachable, unreachable]);
});
