// Inputs of each kind for a field of the configuration, and what an agent reports about them.
import assert from 'node:assert/strict';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { fits, type Field } from '@platform/contract/config/field-row';
import { DeviceAgentConfigResponseSchema } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { Cell } from '@platform/kit';
import { captureLog, FakeClock } from '@platform/kit/testing';
import { ConfigReceiver } from '../src/config/config-receiver.ts';
import { deriveConditions, type Condition } from '../src/health/conditions.ts';
import { simDisk } from '../src/os/sim/disk.ts';
import { SimFiles } from '../src/os/sim/files.ts';
import { nothingYet, type Wanted } from '../src/state/state.ts';

export const defaultsFile = '/etc/platform-defaults.json';

const certificate = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
const privateKey = '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n';
const texts = [
  '1.2.3',
  'wlan9',
  'DE',
  'a-text',
  '12345678',
  '10.0.0.1',
  '10.0.0.2/24',
  '02:30',
  certificate,
  privateKey,
];
const badTexts = ['', 'x', 'no such value\u0000', 'ü'.repeat(20_000)];
const wrongTypes = [true, 7.5, 'x', {}, { a: {} }, [], [{}], ['x', 7]];

const typeOf = (value: unknown): string => (Array.isArray(value) ? 'list' : typeof value);
const rightType: Record<Field['type'], string> = {
  boolean: 'boolean',
  integer: 'number',
  number: 'number',
  string: 'string',
  strings: 'list',
  map: 'object',
};

/** A valid value that is not the default. */
function validFor(field: Field): unknown {
  const candidates: unknown[] = [
    field.max,
    true,
    false,
    ...(field.values ?? []).toReversed(),
    ...texts,
    ...[...(field.values ?? []), ...texts].map((text) => [text]),
    { NAME: 'value' },
  ];
  const found = candidates.find(
    (value) => value !== undefined && fits(field, value) && JSON.stringify(value) !== JSON.stringify(field.default),
  );
  assert.ok(found !== undefined, `no sample is valid for ${JSON.stringify(field)}: add one to texts`);
  return found;
}

/** Values by kind of input; kinds without a value for this field are left out. */
export function inputs(field: Field): [kind: string, value: unknown][] {
  const zeros: Record<Field['type'], unknown> = {
    boolean: false,
    integer: 0,
    number: 0,
    string: '',
    strings: [],
    map: {},
  };
  const beyond = [(field.max ?? NaN) + 1, (field.min ?? NaN) - 1, ...badTexts, badTexts, ['']];
  return [
    ['null', null],
    ['zero or empty', zeros[field.type]],
    ['valid', validFor(field)],
    ...beyond
      .filter((value) => !Number.isNaN(value) && typeOf(value) === rightType[field.type] && !fits(field, value))
      .map((value): [string, unknown] => ['out of range', value]),
    ...wrongTypes
      .filter((value) => typeOf(value) !== rightType[field.type] || (typeof value === 'object' && !fits(field, value)))
      .map((value): [string, unknown] => ['wrong type', value]),
  ];
}

/** Conditions about the configuration of an agent that receives this answer as revision 7. */
export async function correctionConditions(
  answer: MessageInitShape<typeof DeviceAgentConfigResponseSchema>,
  manufacturer: unknown = {},
): Promise<Condition[]> {
  const wanted = new Cell({ revision: 0 } as Wanted);
  const receiver = new ConfigReceiver({
    disk: simDisk(new SimFiles(), {}),
    wanted,
    layers: { commandLine: {}, manufacturer, manufacturerFile: defaultsFile, isFastStart: false },
    conditions: new Cell<readonly Condition[]>([]),
    log: captureLog(new FakeClock()).log,
  });
  await receiver.accept(create(DeviceAgentConfigResponseSchema, { ...answer, revision: 7n }), '');
  return deriveConditions(wanted.get(), nothingYet).filter(({ code }) => code === 'CONFIG_CORRECTED');
}
