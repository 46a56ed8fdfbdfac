import assert from 'node:assert/strict';
import test from 'node:test';
import { captureLog, FakeClock, seededRandom } from '@platform/kit/testing';
import { fileDisk } from '../src/os/file-disk.ts';
import type { Web } from '../src/os/ports.ts';
import { type Fate, simFileSystem, type Step } from '../src/os/sim/file-system.ts';
import { SimFiles, type Survivors } from '../src/os/sim/files.ts';
import { releaseTrust } from '../src/versions/trust/trust.ts';
import { program, Repository, type Page } from './release-repository.ts';

const start = Date.parse('2026-03-01T00:00:00Z');
const none = new AbortController().signal;

/** Serves the repository in process, without a network. */
const webOf = (pages: ReadonlyMap<string, Page>): Web => ({
  ask(_method, url) {
    const page = pages.get(new URL(url).pathname.replace('/tuf/', ''));
    const bytes = Buffer.isBuffer(page) ? page : undefined;
    const body = (async function* () {
      if (bytes) yield bytes;
    })();
    return Promise.resolve({ status: bytes ? 200 : 404, headers: new Map(), body });
  },
});

const repository = new Repository({ now: start });
repository.publish(program('1.0.0'));
const before = repository.copy();
repository.now += 2 * 3_600_000;
repository.rotate((roles) => roles);
repository.publish(program('1.1.0'));
const now = repository.copy();

/** A machine that knows 1.0.0. Its server serves `before`, or `now` with a later root document and 1.1.0. */
async function machine() {
  const files = new SimFiles();
  const clock = new FakeClock(start);
  const check = (pages: ReadonlyMap<string, Page>, version: string, fate?: (step: Step) => Fate) => {
    const trust = releaseTrust({
      disk: fileDisk(simFileSystem(files, fate)),
      web: webOf(pages),
      appAddress: 'https://releases.example',
      time: () => ({ now: repository.now, isTrusted: true, certain: 0 }),
      late: () => {},
      clock,
      log: captureLog(clock).log,
    });
    const { path, sha256 } = program(version);
    const claim = { target: path, program: 'platform-agent', version, platform: 'linux/amd64', sha256 };
    return trust.check(claim, none);
  };
  await check(before, '1.0.0');
  return { files, check };
}

test('power cut, full disk, broken disk at every step of a refresh: trusted again afterwards, and never an older list', async () => {
  const tally: Record<string, number> = {};
  const steps: Step[] = [];
  {
    const w = await machine();
    await w.check(now, '1.1.0', (step) => (steps.push(step), 'ok'));
  }
  assert.ok(steps.length > 20, `${steps.length} steps`);
  const survivors: Survivors[] = [
    { of: 'nothing' },
    { of: 'names' },
    { of: 'all' },
    { of: 'some', random: seededRandom(5) },
  ];
  const fates: [name: string, fate: Fate, left: Survivors | undefined][] = [
    ...survivors.flatMap((left): [string, Fate, Survivors][] => [
      [`cut before, ${left.of} left`, 'lostBefore', left],
      [`cut after, ${left.of} left`, 'lostAfter', left],
      [`cut within, ${left.of} left`, 'lostHalf', left],
    ]),
    ['ENOSPC', { fail: 'ENOSPC' }, undefined],
    ['EIO', { fail: 'EIO' }, undefined],
    ['half a write', { tear: 'EIO' }, undefined],
  ];
  for (let at = 0; at < steps.length; at++) {
    for (const [name, fate, left] of fates) {
      const w = await machine();
      let n = 0;
      const isCut = Promise.withResolvers<void>();
      const ended = w.check(now, '1.1.0', () => {
        if (n++ !== at) return 'ok';
        isCut.resolve();
        return fate;
      });
      const what = `${name} at step ${at}: ${steps[at]?.do} ${steps[at]?.path}`;
      if (left) {
        await isCut.promise;
        w.files.cutPower(left);
      } else {
        await ended.catch(() => {});
      }
      // Whatever survives, the agent accepts the new list and never an older list than one it trusted.
      const isBack = await w.check(before, '1.0.0').then(
        () => 'the list of before',
        () => 'only the new list',
      );
      tally[isBack] = (tally[isBack] ?? 0) + 1;
      assert.ok(await w.check(now, '1.1.0').catch(() => undefined), what);
      await assert.rejects(w.check(before, '1.0.0'), { code: 'RELEASE_UNTRUSTED' }, what);
    }
  }
  process.stdout.write(`${steps.length * fates.length} bad moments of a refresh: ${JSON.stringify(tally)}\n`);
  // Before the first document is stored, the old list is still the newest known one. After the last, it never is.
  assert.equal(Object.keys(tally).length, 2);
});
