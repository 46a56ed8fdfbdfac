import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sourceWall } from '@platform/kit';
import { FakeClock } from '@platform/kit/testing';
import { fileDisk } from '../../os/file-disk.ts';
import { simFileSystem } from '../../os/sim/file-system.ts';
import { SimFiles } from '../../os/sim/files.ts';
import { encodeChecked } from '../../storage/checked-file.ts';
import { releaseTime } from './release-time.ts';

const day = 86_400_000;
const year = 365 * day;
const real = sourceWall + year;

interface Row {
  system: number;
  isSynchronized?: boolean;
  lastSeen?: unknown;
  proven?: unknown;
  is: [now: number, isTrusted: boolean, certain: number];
  /** Stored time after the call; left out: unchanged. */
  keeps?: number;
}
const rows: Record<string, Row> = {
  'a clock in 1970': { system: 0, is: [sourceWall, false, sourceWall] },
  '1970, and what was seen last': { system: 5, lastSeen: real, is: [real, false, sourceWall] },
  '1970, and the time of a time server': { system: 5, lastSeen: real, proven: real, is: [real, false, real] },
  'no source confirms it': { system: real, is: [real, false, sourceWall] },
  'a time server does': { system: real, isSynchronized: true, is: [real, true, sourceWall], keeps: real },
  'minutes later it is not written again': {
    system: real + 60_000,
    isSynchronized: true,
    proven: real,
    is: [real + 60_000, true, real],
  },
  'a clock that was set back': { system: real - 30 * day, proven: real, is: [real, false, real] },
  '2038, and no source confirms it': { system: 2 ** 31 * 1000, is: [sourceWall, false, sourceWall] },
  '2038, by a time server': {
    system: 2 ** 31 * 1000,
    isSynchronized: true,
    is: [2 ** 31 * 1000, true, sourceWall],
    keeps: 2 ** 31 * 1000,
  },
  'far in the future, which no time server says': {
    system: 8e15,
    isSynchronized: true,
    is: [sourceWall, false, sourceWall],
  },
  'before this program was made, which no time server says': {
    system: sourceWall - day,
    isSynchronized: true,
    is: [sourceWall, false, sourceWall],
  },
  'what was seen once was wrong: a time server is believed': {
    system: real,
    isSynchronized: true,
    lastSeen: real + 20 * year,
    is: [real, true, sourceWall],
    keeps: real,
  },
  'a time server was wrong once': {
    system: real,
    isSynchronized: true,
    proven: real + 20 * year,
    is: [real, true, real],
    keeps: real,
  },
  nonsense: { system: 5, lastSeen: 'soon', proven: null, is: [sourceWall, false, sourceWall] },
  'more nonsense': { system: 5, lastSeen: Number.MAX_SAFE_INTEGER, proven: -1, is: [sourceWall, false, sourceWall] },
};

for (const [name, { system, isSynchronized = false, lastSeen, proven, is, keeps }] of Object.entries(rows)) {
  test(`the time that documents expire by: ${name}`, async () => {
    const files = new SimFiles();
    if (lastSeen !== undefined) files.put('state/time.json', encodeChecked({ last_seen: lastSeen }));
    if (proven !== undefined) files.put('state/proven-time.json', encodeChecked({ proven }));
    const before = files.get('state/proven-time.json')?.bytes;
    const disk = fileDisk(simFileSystem(files));
    const { now, isTrusted, certain } = await releaseTime(disk, new FakeClock(system), isSynchronized);
    assert.deepEqual([now, isTrusted, certain], is);
    const after = files.get('state/proven-time.json')?.bytes;
    assert.deepEqual(after, keeps === undefined ? before : encodeChecked({ proven: keeps }));
  });
}
