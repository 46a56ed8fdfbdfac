// Patches between two builds of the agent that differ by their version, and between agent and machine server: size and
// time, next to xdelta3 if it is installed.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, openSync, readFileSync, readSync, rmSync, statSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { constants, zstdCompressSync } from 'node:zlib';
import { plainEnvironment, applyPatch, makePatch, systemClock } from '@platform/kit/node';

const checkout = path.resolve(import.meta.dirname, '../..');
const folder = mkdtempSync(path.join(os.tmpdir(), 'patches-'));

function built(program: string, version: string): string {
  const tool = path.join(checkout, 'tools', 'release.ts');
  const done = spawnSync(process.execPath, [tool, program, '--release-version', version, '--out', folder], {
    env: plainEnvironment(),
    encoding: 'utf8',
  });
  if (done.status !== 0) throw new Error(done.stderr);
  return (JSON.parse(done.stdout.trim().split('\n').at(-1) ?? '') as { file: string }).file;
}

const timed = <T>(work: () => T): [T, number] => {
  const start = systemClock.now();
  const result = work();
  return [result, (systemClock.now() - start) / 1000];
};
const kb = (bytes: number): string => `${Math.round(bytes / 1000)} KB`;
const s = (seconds: number): string => `${seconds.toFixed(1)} s`;

async function measure(name: string, beforeFile: string, afterFile: string): Promise<void> {
  const [before, after] = [readFileSync(beforeFile), readFileSync(afterFile)];
  const [plain, makeS] = timed(() => Buffer.concat([...makePatch(before, after)]));
  const level = plain.length < 4 << 20 ? 19 : 12; // as `platform release publish` packs it
  const [packed, packS] = timed(() =>
    zstdCompressSync(plain, {
      params: { [constants.ZSTD_c_compressionLevel]: level, [constants.ZSTD_c_windowLog]: 23 },
    }),
  );
  const makeRss = process.memoryUsage().rss;
  const source = openSync(beforeFile, 'r');
  const hash = createHash('sha256');
  const start = systemClock.now();
  await applyPatch({
    patch: (async function* () {
      yield packed;
    })(),
    source(at, length) {
      const into = Buffer.allocUnsafe(length);
      return Promise.resolve(into.subarray(0, readSync(source, into, 0, length, at)));
    },
    write: (bytes) => Promise.resolve(void hash.update(bytes)),
    limitBytes: after.length,
  });
  const applyS = (systemClock.now() - start) / 1000;
  if (hash.digest('hex') !== createHash('sha256').update(after).digest('hex')) throw new Error(`${name}: a wrong file`);
  const out = path.join(folder, 'xdelta');
  const [other, otherS] = timed(() =>
    spawnSync('xdelta3', ['-e', '-S', 'none', '-A', '-f', '-W', '8388608', '-s', beforeFile, afterFile, out]),
  );
  const rival = other.status === 0 ? `${kb(statSync(out).size)} in ${s(otherS)}` : 'not installed';
  process.stdout.write(
    `${name}: ${kb(after.length)}; patch ${kb(plain.length)} in ${s(makeS)}, packed ${kb(packed.length)} in ${s(packS)}, ` +
      `applied with its sha256 in ${s(applyS)}; ${Math.round(makeRss / 1e6)} MB of memory; xdelta3: ${rival}\n`,
  );
}

try {
  const [agent, next] = [built('platform-agent', '0.1.0'), built('platform-agent', '0.1.1')];
  await measure('agent, another version', agent, next);
  await measure(
    'machine server, another version',
    built('platform-server', '0.1.0'),
    built('platform-server', '0.1.1'),
  );
  await measure('another program on the same runtime', agent, built('platform-server', '0.1.1'));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
