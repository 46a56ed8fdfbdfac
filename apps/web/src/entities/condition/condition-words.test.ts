import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  ConditionAction,
  ConditionGroupSchema,
  ConditionSchema,
  ConditionSubject,
} from '@platform/contract/gen/platform/conditions/v1/conditions_pb';
import { groupWords, remedyOf, outcomeOf } from './condition-words.ts';

const example = (of: MessageInitShape<typeof ConditionSchema>) => ({
  subject: ConditionSubject.MACHINE,
  subjectName: 'barn',
  message: 'No such device.',
  ...of,
});

test('conditions of one kind in a few words', () => {
  const words = (of: MessageInitShape<typeof ConditionGroupSchema>) => {
    const { title, cause } = groupWords(create(ConditionGroupSchema, { subject: ConditionSubject.MACHINE, ...of }));
    return `${title} | ${cause}`;
  };
  const examples = ['barn', 'shed', 'silo'].map((subjectName) => example({ subjectName }));
  assert.equal(
    words({ code: 'MACHINE_OFFLINE', count: 1214, examples }),
    '1\u202f214 machines are offline | barn, shed, silo and more. No such device.',
  );
  assert.equal(
    words({ code: 'CAMERA_FAILED', count: 1, examples: [example({ code: 'CAMERA_FAILED' })] }),
    'A camera of barn fails | No such device.',
  );
  assert.equal(
    words({ code: 'OUT_OF_FILES', count: 2, examples: examples.slice(0, 2) }),
    'Out of files on 2 machines | barn, shed. No such device.',
  );
  assert.equal(
    words({ code: 'constructor', count: 1, examples: [example({ code: 'constructor' })] }),
    'Constructor on barn | No such device.',
  );
  const hebrew = '\u05e9\u05dc\u05d5\u05dd';
  assert.equal(
    words({ code: 'MACHINE_OFFLINE', count: 2, examples: [example({ subjectName: hebrew, message: `${hebrew} 1` })] }),
    `2 machines are offline | \u2068${hebrew}\u2069 and more. \u2068${hebrew} 1\u2069`,
    'a name turns only itself',
  );
});

test('a condition leads to where it is dealt with; an action of a newer server to nothing', () => {
  const remedy = (action: ConditionAction) => remedyOf(create(ConditionSchema, { action, subjectId: 'x' }));
  assert.deepEqual(remedy(ConditionAction.OPEN_LOGS), { is: 'link', text: 'Open LOGS', to: '/machines/x/logs' });
  assert.deepEqual(
    remedyOf(create(ConditionSchema, { action: ConditionAction.OPEN_CONFIGURATION, subjectId: 'x', path: 'a[0]' })),
    {
      is: 'link',
      text: 'Open CONFIGURE',
      to: '/machines/x/configure',
      search: { path: 'a[0]' },
    },
  );
  assert.deepEqual(remedy(ConditionAction.OPEN_SETTINGS), {
    is: 'link',
    text: 'Open settings',
    to: '/settings/server',
  });
  assert.equal(remedy(ConditionAction.REBOOT)?.is, 'order');
  assert.equal(remedy(99 as ConditionAction), undefined);
  for (const action of Object.values(ConditionAction))
    assert.equal(remedy(action) === undefined, action === ConditionAction.UNSPECIFIED, String(action));
});

test('all is well only if all was measured lately and nothing is noted', () => {
  const well = { isCurrent: true, isMeasured: true, isLate: false, errors: 0, warnings: 0, notes: 0 };
  assert.equal(outcomeOf(well), 'well');
  assert.equal(outcomeOf({ ...well, warnings: 1 }), 'attention');
  assert.equal(outcomeOf({ ...well, notes: 1 }), 'notes');
  assert.equal(outcomeOf({ ...well, notes: 1, isLate: true }), 'unknown');
  for (const not of [{ isCurrent: false }, { isMeasured: false }, { isLate: true }])
    assert.equal(outcomeOf({ ...well, ...not }), 'unknown', JSON.stringify(not));
});
