import assert from 'node:assert/strict';
import { test } from 'node:test';
import { localZone, machineZone, utcZone } from './log-zone.ts';

const at = (text: string): number => Date.parse(text);

test('times of the machine are those of its zone, also around a change of its clock', () => {
  const berlin = machineZone('Europe/Berlin');
  assert.ok(berlin);
  // On 29 March 2026, the clock goes from 2:00 to 3:00; on 25 October, from 3:00 back to 2:00.
  const rows: [text: string, clock: string][] = [
    ['2026-03-29T00:59:59.123Z', '01:59:59.123'],
    ['2026-03-29T01:00:00.000Z', '03:00:00.000'],
    ['2026-10-25T00:30:00.000Z', '02:30:00.000'],
    ['2026-10-25T01:30:00.000Z', '02:30:00.000'],
  ];
  for (const [text, clock] of rows) assert.equal(berlin.clock(at(text)), clock, text);
  assert.deepEqual(berlin.dayOf(at('2026-03-29T12:00:00Z')), {
    from: at('2026-03-28T23:00:00Z'),
    until: at('2026-03-29T22:00:00Z'),
  });
  assert.match(berlin.date(at('2026-03-28T23:30:00Z')), /^Sunday,? 29 March 2026$/);
  assert.equal(berlin.toField(at('2026-06-01T10:00:00Z')), '2026-06-01T12:00:00');
  assert.equal(berlin.fromField('2026-06-01T12:00:00'), at('2026-06-01T10:00:00Z'));
  assert.equal(berlin.fromField('no time'), undefined);
  assert.equal(berlin.tick(at('2026-06-01T22:00:00Z')), '2 Jun');
});

test('a zone that this browser does not know is not offered', () => {
  assert.equal(machineZone('Europe/Nowhere'), undefined);
  assert.equal(machineZone(''), undefined);
});

test('the zones of the reader and of UTC', () => {
  assert.equal(utcZone.clock(at('2026-06-01T10:00:00.5Z')), '10:00:00.500');
  assert.deepEqual(utcZone.dayOf(at('2026-06-01T10:00:00Z')), { from: at('2026-06-01Z'), until: at('2026-06-02Z') });
  const noon = new Date(2026, 5, 1, 12).getTime();
  assert.equal(localZone.clock(noon), '12:00:00.000');
  assert.equal(localZone.fromField(localZone.toField(noon)), noon);
});
