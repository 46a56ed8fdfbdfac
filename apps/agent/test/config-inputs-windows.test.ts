// Every field of a maintenance window with every kind of bad input, on the way that it takes: saved, sent, resolved, reported.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create, fromBinary, fromJson, toBinary, toJson, type JsonObject, type JsonValue } from '@bufbuild/protobuf';
import { ValueSchema } from '@bufbuild/protobuf/wkt';
import { resolveAgentConfig, type MaintenanceWindow } from '@platform/contract/config/agent-config';
import { checkConfig } from '@platform/contract/config/config';
import { fits, type Field } from '@platform/contract/config/field-row';
import { fieldTable } from '@platform/contract/gen/agent-config.gen';
import { DeviceAgentConfigResponseSchema } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { correctionConditions, inputs } from './config-inputs.ts';

const agent = { advanced_settings: { debug: true } };
/** It has every field but `duration_minutes`, which excludes `to`. */
const whole = { days: ['sat'], from: '22:00', to: '04:00', time_zone: 'Europe/Berlin' };
const witness = { from: '01:00', duration_minutes: 30, days: ['mon'], time_zone: 'device' };
const [witnessRead] = resolveAgentConfig({ maintenanceWindow: witness }).config.maintenance_window;

/** The window with one other value, beside fields that it goes with. */
function windowWith(key: string, value: unknown): JsonObject {
  const { to: _end, ...open } = whole;
  return (key === 'duration_minutes' ? { ...open, [key]: value } : { ...whole, [key]: value }) as JsonObject;
}

/** As an agent receives a list of windows: through the bytes of the answer. */
function received(windows: readonly JsonValue[]): JsonValue {
  const answer = create(DeviceAgentConfigResponseSchema, {
    maintenanceWindows: fromJson(ValueSchema, [...windows]),
  });
  const again = fromBinary(DeviceAgentConfigResponseSchema, toBinary(DeviceAgentConfigResponseSchema, answer));
  return again.maintenanceWindows ? toJson(ValueSchema, again.maintenanceWindows) : null;
}

function resolved(windows: readonly JsonValue[]) {
  const { config, corrections } = resolveAgentConfig({ cloud: agent, maintenanceWindow: received(windows) });
  assert.equal(config.advanced_settings.debug, true);
  return { windows: config.maintenance_window, corrections };
}

for (const [key, field] of Object.entries<Field>(fieldTable.maintenance_window)) {
  test(`inputs: maintenance_window.${key}`, async () => {
    for (const [kind, value] of [['absent', undefined] as const, ...inputs(field)]) {
      const name = `${kind}: ${JSON.stringify(value)?.slice(0, 60)}`;
      const { [key]: _absent, ...rest } = windowWith(key, value);
      const list: JsonObject[] = [value === undefined ? rest : windowWith(key, value), witness];
      assert.deepEqual(received(list), list, `${name}: changed on its way`);
      const { windows, corrections } = resolved(list);
      assert.deepEqual(windows.at(-1), witnessRead, `${name}: the other window is lost`);
      const used = windows.length > 1 ? windows[0] : undefined;
      const isUnset = value === undefined || value === null;
      if (isUnset ? field.default !== undefined : fits(field, value) && corrections.length === 0) {
        assert.deepEqual(used?.[key as keyof MaintenanceWindow], isUnset ? field.default : value, name);
        assert.deepEqual(await correctionConditions({ maintenanceWindows: fromJson(ValueSchema, list) }), [], name);
        continue;
      }
      // Without an end, there is no window: the rule names `to`.
      const path = `maintenance_window[0].${isUnset && key === 'duration_minutes' ? 'to' : key}`;
      assert.deepEqual(
        corrections.map((one) => one.path),
        [path],
        name,
      );
      if (used) assert.ok(fits(field, used[key as keyof MaintenanceWindow]), `${name}: an invalid value is used`);
      const [condition, ...more] = await correctionConditions({ maintenanceWindows: fromJson(ValueSchema, list) });
      assert.ok(condition?.message.startsWith(`${path} in revision 7: `), `${name}: ${condition?.message}`);
      assert.deepEqual(more, [], name);
      const problems = checkConfig({ agent, maintenance_window: list }).filter(({ severity }) => severity === 'error');
      assert.ok(
        // null is unset for an agent, but cannot be saved in a window.
        problems.some((problem) => problem.path === (value === null ? `maintenance_window[0].${key}` : path)),
        `${name}: saving names it`,
      );
    }
  });
}

test('inputs: an unknown key in a maintenance window has no effect, is kept and reported', () => {
  for (const value of [null, 0, 'x', { deep: [1, { er: true }] }]) {
    const list = [{ ...whole, later: value }, witness] as JsonObject[];
    assert.deepEqual(received(list), list);
    assert.deepEqual(resolved(list), resolved([whole, witness]));
    assert.deepEqual(
      checkConfig({ agent, maintenance_window: list }).map(({ path, severity }) => [path, severity]),
      [['maintenance_window[0].later', 'note']],
    );
  }
});
