import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { ProgramStatusSchema, UpdateState } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { programView, trialLabel, trialText } from './program-status.ts';

const view = (fields: MessageInitShape<typeof ProgramStatusSchema>) =>
  programView(create(ProgramStatusSchema, fields), 0);

test('the last update in a word, with its progress while it is downloaded', () => {
  const table: [
    state: UpdateState,
    loaded: bigint,
    size: bigint,
    word: string,
    tone: string,
    share: unknown,
    text: string,
  ][] = [
    [UpdateState.DOWNLOADING, 24_000_000n, 96_000_000n, 'Downloading', 'busy', 0.25, '24.0 MB of 96.0 MB'],
    [UpdateState.DOWNLOADING, 500n, 0n, 'Downloading', 'busy', undefined, '500 B'],
    [UpdateState.STAGED, 96n, 96n, 'Ready, used at the next restart', 'busy', undefined, ''],
    [UpdateState.TRYING, 96n, 96n, 'On trial', 'busy', undefined, ''],
    [UpdateState.HEALTHY, 96n, 96n, 'Healthy', 'good', undefined, ''],
    [UpdateState.REVERTED, 96n, 96n, 'Rolled back', 'bad', undefined, ''],
    [UpdateState.FAILED, 96n, 96n, 'Failed', 'bad', undefined, ''],
    [UpdateState.SUPERSEDED, 96n, 96n, 'Superseded by another version', 'quiet', undefined, ''],
  ];
  for (const [state, downloadedBytes, sizeBytes, word, tone, share, text] of table) {
    const { update } = view({ lastUpdate: { version: '1.4.0', state, downloadedBytes, sizeBytes, reason: 'why' } });
    assert.deepEqual([update?.label, update?.share, update?.loaded], [{ tone, text: word }, share, text]);
  }
  assert.equal(view({}).update, undefined);
  assert.equal(view({ lastUpdate: {} }).update, undefined);
});

test('what a version waits for, and until when', () => {
  const reason = 'it waits for the window Sat 22:00 Europe/Berlin';
  assert.deepEqual(view({ wait: { reason, until: timestampFromMs(5) } }).wait, { reason, untilMs: 5 });
  assert.equal(view({}).wait, undefined);
});

test('a version that was given up is not on its way', () => {
  const wanted = { runningVersion: '1.0.0', installedVersion: '1.0.0', wantedVersion: '1.1.0' };
  assert.equal(view(wanted).isUpdateWaiting, true);
  const since = timestampFromMs(5);
  const quarantined = [{ version: '1.1.0', sha256: new Uint8Array(32).fill(0xab), reason: 'crashed', since }];
  const given = view({ ...wanted, quarantined });
  assert.equal(given.isUpdateWaiting, false);
  assert.deepEqual(given.quarantined, [{ version: '1.1.0', hash: 'abababababab', reason: 'crashed', since: 5 }]);
});

test('an unsigned file is shown for the running program, and separately for the next one', () => {
  const table: [unsigned: boolean, installedUnsigned: boolean, installedVersion: string, shown: [boolean, boolean]][] =
    [
      [false, false, '1.1.0', [false, false]],
      [true, true, '1.0.0', [true, false]],
      [false, true, '1.1.0', [false, true]],
      [true, false, '1.1.0', [true, false]],
    ];
  for (const [unsigned, installedUnsigned, installedVersion, shown] of table) {
    const { isUnsigned, isNextUnsigned } = view({
      runningVersion: '1.0.0',
      installedVersion,
      unsigned,
      installedUnsigned,
    });
    assert.deepEqual([isUnsigned, isNextUnsigned], shown);
  }
});

test('how a version ended is shown beside it, once', () => {
  const since = timestampFromMs(5);
  const exit = { version: '1.1.0', reason: 'exit 3', lines: ['it hurts', 'and how'], since };
  const shown = { version: '1.1.0', reason: 'exit 3', lines: 'it hurts\nand how', since: 5 };
  const quarantined = [{ version: '1.1.0', reason: 'crashed', since, exit }];
  const once = view({ quarantined, lastExit: exit });
  assert.deepEqual([once.quarantined[0]?.exit, once.lastExit], [shown, undefined]);
  // A machine without a valid clock reports no time.
  const untimed = { version: '1.0.0', reason: 'exit 3', lines: [] };
  const given = { version: '1.1.0', reason: 'crashed' };
  assert.equal(
    view({ quarantined: [given, { ...given, exit: { ...untimed, version: '1.1.0' } }], lastExit: untimed }).lastExit
      ?.version,
    '1.0.0',
  );
  const later = { ...exit, version: '1.0.0', since: timestampFromMs(9) };
  assert.deepEqual(view({ quarantined, lastExit: later }).lastExit, { ...shown, version: '1.0.0', since: 9 });
});

test('a trial that a machine reported before it went offline is one of then', () => {
  const trial = (starts: number) =>
    programView(
      create(ProgramStatusSchema, {
        trial: { version: '2', previousVersion: '1', starts, since: timestampFromMs(60_000) },
      }),
      undefined,
    );
  const [waiting, tried] = [trial(0), trial(1)];
  assert.equal(trialLabel(waiting, undefined), undefined, 'it has not started');
  assert.deepEqual(trialLabel(tried, undefined), { tone: 'busy', text: 'On trial' });
  assert.deepEqual(trialLabel(tried, 120_000), { tone: 'quiet', text: 'Was on trial' });
  assert.ok(tried.trial);
  assert.equal(trialText(tried.trial, 86_460_000, undefined), 'is on trial for 1 d (start 1 of 3)');
  assert.equal(trialText(tried.trial, 86_460_000, 120_000), 'was on trial for 1 min (start 1 of 3) at the last report');
});
