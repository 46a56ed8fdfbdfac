import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Absence } from '@platform/contract/gen/platform/timeline/v1/timeline_pb';
import { absenceEvents } from './absence-events.ts';

// All times in minutes.
const ms = (minutes: number): number => Math.round(minutes * 60_000);
type Times = readonly (readonly [from: number, until: number])[];
const intervals = (times: Times) => times.map(([from, until]) => ({ from: ms(from), until: ms(until) }));
const names: Readonly<Record<number, string>> = {
  [Absence.OFFLINE]: 'offline',
  [Absence.NOT_MEASURED]: 'not measured',
  [Absence.NOT_KNOWN]: 'not known',
  [Absence.REMOVED]: 'removed',
};
/** A sample each minute, from one time to another. */
const each = (from: number, until: number): number[] => Array.from({ length: until - from + 1 }, (_, n) => from + n);
const always: Times = [[0, 1000]];

interface Given {
  readonly away?: Times;
  readonly watched?: Times;
  readonly sampled?: readonly number[];
  readonly lost?: number;
  readonly created?: number;
}
const rows: readonly (readonly [about: string, given: Given, expected: readonly string[]])[] = [
  ['nothing', {}, []],
  ['the server listened all the time', { away: [[100, 129]] }, ['offline 100–129']],
  [
    'the first absence began before it is known when the server listened',
    {
      away: [
        [100, 300],
        [400, 450],
      ],
      watched: [[200, 1000]],
    },
    ['offline 200–300', 'offline 400–450'],
  ],
  ['it is not known at all when the server listened', { away: [[100, 300]], watched: [] }, []],
  [
    'the server stops and starts within it',
    {
      away: [[100, 500]],
      watched: [
        [0, 200],
        [300, 1000],
      ],
    },
    ['not known 200–300', 'offline 100–200', 'offline 300–500'],
  ],
  [
    'the server stops at once, and the machine is not there when it starts',
    {
      away: [[100, 500]],
      watched: [
        [0, 101],
        [300, 1000],
      ],
    },
    ['not known 101–300', 'offline 300–500'],
  ],
  [
    'the server stops later, and the machine is there when it starts',
    {
      away: [[100, 300.1]],
      watched: [
        [0, 200],
        [300, 1000],
      ],
    },
    ['not known 200–300', 'offline 100–200'],
  ],
  [
    'the server does not run, and the machine is there before and after',
    {
      watched: [
        [0, 200],
        [300, 1000],
      ],
    },
    ['not known 200–300'],
  ],
  [
    '… but the machine was not created yet',
    {
      watched: [
        [0, 200],
        [300, 1000],
      ],
      created: 400,
    },
    [],
  ],
  [
    'the server starts again at the limit',
    {
      away: [[100, 500]],
      watched: [
        [0, 200],
        [205, 1000],
      ],
    },
    ['offline 100–500'],
  ],
  [
    '… and a moment after it',
    {
      away: [[100, 500]],
      watched: [
        [0, 200],
        [205.01, 1000],
      ],
    },
    ['not known 200–205.01', 'offline 100–200', 'offline 205.01–500'],
  ],
  [
    'the clock of the server was ahead for a moment, and that time has not come yet',
    {
      watched: [
        [0, 1000],
        [1600, 1600],
      ],
    },
    [],
  ],
  ['an absence at the limit', { away: [[100, 105]] }, []],
  ['… and a moment after it', { away: [[100, 105.01]] }, ['offline 100–105.01']],
  [
    'times overlap, in any order: two servers, and clocks that were set',
    {
      away: [[100, 200]],
      watched: [
        [150, 1000],
        [0, 170],
        [20, 30],
      ],
    },
    ['offline 100–200'],
  ],
  [
    'a gap between samples that the absence explains is not listed apart',
    { away: [[100, 129]], sampled: [...each(0, 99), ...each(131, 140)] },
    ['offline 100–129'],
  ],
  [
    'a gap that lasts longer than the absence is',
    { away: [[100, 129]], sampled: [...each(0, 99), ...each(160, 170)] },
    ['not measured 99–160', 'offline 100–129'],
  ],
  ['a gap of a machine that checks', { sampled: [...each(0, 99), ...each(131, 140)] }, ['not measured 99–131']],
  ['samples that came later', { away: [[100, 129]], sampled: each(0, 140) }, ['offline 100–129, it ran']],
  [
    'samples at its ends say nothing',
    { away: [[100, 129]], sampled: [...each(0, 102), ...each(127, 140)] },
    ['offline 100–129'],
  ],
  ['the absence of now', { lost: 900 }, ['offline 900–']],
  ['… explains the gap before late samples', { lost: 900, sampled: [899, 950] }, ['offline 900–']],
];
for (const [about, { away = [], watched = always, sampled = [], lost, created = 0 }, expected] of rows)
  test(`absences of a machine: ${about}`, () => {
    const facts = {
      createdOn: ms(created),
      lostSince: lost === undefined ? undefined : ms(lost),
      uninstalledOn: undefined,
      now: ms(1000),
    };
    const found = absenceEvents(
      { sampled: sampled.map(ms), absences: intervals(away), watched: intervals(watched) },
      facts,
    );
    const texts = found.map(({ absence = 0, time, until, detail = '' }) => {
      const times = `${time / 60_000}–${until === undefined ? '' : until / 60_000}`;
      return `${names[absence]} ${times}${detail.startsWith('It ran') ? ', it ran' : ''}`;
    });
    assert.deepEqual(texts.toSorted(), expected);
  });
