import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '@platform/kit/testing';
import { bar, createScreen } from './progress.ts';

const play = async (isTTY: boolean): Promise<string> => {
  let text = '';
  const clock = new FakeClock();
  const screen = createScreen({ write: (t) => void (text += t), isTTY, columns: 70 }, clock);
  screen.show({ is: 'begin', step: 'upload', title: 'Images' });
  for (const fraction of [0, 0.05, 0.12, 0.5]) {
    screen.show({ is: 'advance', step: 'upload', fraction, note: `${fraction * 100} of 100` });
    await clock.advance(600);
  }
  screen.show({ is: 'end', step: 'upload', title: 'Images', seconds: 2.34, note: '100 images' });
  screen.close();
  return text;
};

test('elsewhere than on a terminal: plain lines, no more than one a second and one a tenth', async () => {
  assert.deepEqual((await play(false)).split('\n'), [
    '  · Images …',
    '    Images: 0 %, 0 of 100',
    '    Images: 12 %, 12 of 100',
    '  ✓ Images — 100 images (2.3 s)',
    '',
  ]);
});

test('on a terminal the bar redraws its line, and never wraps', async () => {
  const text = await play(true);
  assert.equal(text.split('\n').length, 2);
  for (const drawn of text.split('\r\x1b[2K')) assert.ok(drawn.replace(/\n$/, '').length < 70, drawn);
});

test('bar', () => {
  assert.equal(bar(0), `${'░'.repeat(24)}   0 %`);
  assert.equal(bar(1.7).startsWith('█'.repeat(24)), true);
});
