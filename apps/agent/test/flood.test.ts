// A program writes 100 MB/s to a real disk.
import assert from 'node:assert/strict';
import { open, readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { Cell } from '@platform/kit';
import { systemClock } from '@platform/kit/node';
import { captureLog, tempFolder } from '@platform/kit/testing';
import { posixDisk } from '../src/os/posix/disk.ts';
import { posixLines } from '../src/os/posix/lines.ts';
import type { Device } from '../src/os/ports.ts';
import { Floods } from '../src/logs/floods.ts';
import { SpoolWriter } from '../src/logs/spool-writer.ts';
import { storeLines } from '../src/logs/upload.ts';
import { Mask } from '../src/logs/mask.ts';
import { followOutput, outputLimitBytes } from '../src/logs/output.ts';
import { Spool, standardSpoolLimits } from '../src/logs/spool.ts';
import { DeviceTime } from '../src/clock/device-time.ts';

test('120 MB of output: what is not stored is counted, and neither file outgrows its limit', async (t) => {
  await using folder = await tempFolder();
  const clock = systemClock;
  const { log: local } = captureLog(clock);
  const disk = posixDisk(folder.path);
  const device = { lines: posixLines(folder.path), disk } as Pick<Device, 'lines' | 'disk'> as Device;
  const spool = await Spool.open(disk, standardSpoolLimits, () => 'boot');
  const conditions = new Cell([]);
  const time = new DeviceTime({ disk, clock, conditions, log: local, run: 'run' });
  const writer = new SpoolWriter({ spool, mask: new Mask(), time, clock });
  const file = 'log/out.log';
  await device.lines.end(file);
  const stop = new AbortController();
  const storing = storeLines(spool, { conditions, clock, local }, stop.signal);
  const output = { source: 'out', file, logger: 'out', level: 'warn' as const };
  const wall = () => time.wall();
  const floods = new Floods({ conditions, clock });
  const following = followOutput(output, { device, spool, writer, floods, wall, clock, local }, stop.signal);

  const cpu = process.cpuUsage();
  const began = clock.now();
  const perChunk = 10_000;
  const chunks = 120;
  let largest = 0;
  {
    await using out = await open(folder.file(file), 'a');
    for (let i = 0; i < chunks; i++) {
      const lines = Array.from({ length: perChunk }, (_, k) =>
        `line ${i * perChunk + k} ${'x'.repeat(90)}`.slice(0, 99),
      );
      await out.appendFile(`${lines.join('\n')}\n`);
      largest = Math.max(largest, (await stat(folder.file(file))).size);
      await clock.sleep(10);
    }
    await out.appendFile('the last line\n');
  }
  const stored: number[] = [];
  let dropped = 0;
  const take = async (): Promise<void> => {
    for (let more = await spool.next(1_000); more.length > 0; more = await spool.next(1_000)) {
      for (const r of more) {
        const number = Number(/^line (\d+)/.exec(r.message)?.[1] ?? NaN);
        if (!Number.isNaN(number)) stored.push(number);
        dropped += Number(r.fields['lines_dropped'] ?? 0);
      }
      await spool.ack(more.at(-1)!.sequence);
    }
  };
  const isRead = async (): Promise<boolean> =>
    spool.isIdle && (await stat(folder.file(file))).size === (spool.cursor('out')?.offset ?? -1);
  while (!(await isRead())) {
    await take();
    await clock.sleep(20);
  }
  stop.abort();
  await Promise.all([storing, following]);
  await take();
  const total = perChunk * chunks;
  // Lines written while the agent truncates a file are not counted.
  assert.ok(stored.length + dropped >= total * 0.95, `${stored.length} + ${dropped}`);
  assert.ok(stored.length + dropped <= total + 1, `${stored.length} + ${dropped}`);
  assert.ok(stored.length >= 5_000, `${stored.length} are stored`);
  assert.deepEqual(
    stored,
    stored.toSorted((a, b) => a - b),
  );
  assert.ok(largest <= 6 * outputLimitBytes, `${largest} bytes`);
  const spoolBytes = (
    await Promise.all((await readdir(folder.file('spool'))).map((n) => stat(path.join(folder.file('spool'), n))))
  ).reduce((sum, s) => sum + s.size, 0);
  assert.ok(spoolBytes <= standardSpoolLimits.totalBytes + 2 ** 20);
  const used = process.cpuUsage(cpu);
  t.diagnostic(
    `${Math.round(clock.now() - began)} ms; CPU ${Math.round((used.user + used.system) / 1000)} ms, the writing included; ` +
      `${stored.length} stored, ${dropped} counted; largest file ${Math.round(largest / 2 ** 20)} MiB`,
  );
});
