import { machineEnvironment, machineExit, restartStatusJson } from '@platform/contract/machine-server/machine-server';
import { resourceReportJson, resourceStates } from '@platform/contract/machine-server/resource-report';
import { platformServerKnowledge } from '@platform/contract/machine-server/resources';
import { create } from '@bufbuild/protobuf';
import { RobotConfigSchema } from '@platform/contract/gen/platform/app/v1/robot_pb';
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { readMachineConfig } from '../src/machine-config.ts';
import type { WantedConfig } from './fake-cloud.ts';

const document = await readFile(path.resolve(import.meta.dirname, '../../../docs/machine-server.md'), 'utf8');

test('the document names every environment name, exit code and member of the contract', () => {
  for (const name of Object.values(machineEnvironment)) assert.ok(document.includes(`\`${name}\``), name);
  for (const code of Object.values(machineExit)) assert.match(document, new RegExp(`^\\| ${code} \\|`, 'm'));
  const members = Object.keys(restartStatusJson({ restartAllowed: true, doesNotHandleNeedsRestart: true }));
  for (const member of members) assert.match(document, new RegExp(`^\\| \`${member}\` \\|`, 'm'));
});

test('the document names every member and state of a resource report', () => {
  const error = { code: 'X', message: 'x', remedy: 'x' };
  const state = { name: 'a', path: 'components[0]', state: 'failed', sinceWall: 0, error } as const;
  const report = { revision: 1, resources: [state], knowledge: { ...platformServerKnowledge, schemasSha256: '' } };
  const { resources, ...members } = resourceReportJson(report) as { resources: object[] };
  for (const member of [...Object.keys(members), 'resources', ...Object.keys(resources[0] ?? {})])
    assert.match(document, new RegExp(`^\\| \`${member}\` \\|`, 'm'));
  for (const one of resourceStates) assert.ok(document.includes(`\`${one}\``), one);
});

test('its example of a configuration is understood without a problem', () => {
  const json = /```json\n([\s\S]*?)```/.exec(document)?.[1] ?? '';
  const { maintenance, ...config } = JSON.parse(json) as WantedConfig & {
    maintenance: { sensor_name: string; maintenance_allowed_key: string };
  };
  const wired = {
    ...config,
    maintenance: {
      sensorName: { name: maintenance.sensor_name },
      maintenanceAllowedKey: maintenance.maintenance_allowed_key,
    },
  };
  const { resources, packages, problems } = readMachineConfig(create(RobotConfigSchema, wired));
  assert.deepEqual([resources.length, packages.length, problems], [6, 1, []]);
});
