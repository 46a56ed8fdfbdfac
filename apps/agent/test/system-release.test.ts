// disable_system_configuration: what the agent restores and leaves, and how the status names it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { originsFile, periodicFile } from '../src/system/apt-files.ts';
import { journaldFile } from '../src/system/journald.ts';
import { aptMachine, owners } from './apt-machine.ts';
import { agentOn } from './system-agent.ts';

const managed = {
  system_configuration: { logging_journald_system_max_use_megabytes: 64, os_auto_upgrade_type: 'security' },
};
const disabled = { ...managed, advanced_settings: { disable_system_configuration: true } };

test('disabled: the status names what was restored and what was left, also after a restart', async () => {
  await using at = await aptMachine();
  const before = { ...owners, [journaldFile]: '[Journal]\nSystemMaxUse=1G\n' };
  for (const [file, text] of Object.entries(before)) await at.put(file, text);
  const agent = agentOn(at);
  await agent.configure(1, managed);
  await agent.reports('');
  await at.put(originsFile, '// changed by a user\n');
  await agent.configure(2, disabled);
  const why = [
    'disable_system_configuration is true',
    `restored: ${journaldFile}, ${periodicFile}`,
    `changed by others and left: ${originsFile}`,
    'left installed: unattended-upgrades',
  ].join('; ');
  await agent.reports(why);
  for (const file of [journaldFile, periodicFile] as const) assert.equal(await at.read(file), before[file]);
  assert.equal(await at.read(originsFile), '// changed by a user\n');
  assert.equal(await at.read(`${originsFile}.save`), before[originsFile]);
  await agent.stop();

  const next = agentOn(at);
  await next.configure(2, disabled);
  await next.reports(why);
  await next.configure(3, managed);
  await next.reports('');
  at.world.isInstalled = false; // a user removed it
  await next.configure(4, disabled);
  const all = [journaldFile, originsFile, periodicFile].join(', ');
  await next.reports(`disable_system_configuration is true; restored: ${all}`);
  assert.equal(await at.read(originsFile), '// changed by a user\n');
  await next.stop();
});

test('disabled: a package that the agent found is not named, nor is a file that an earlier configuration gave back', async () => {
  await using at = await aptMachine();
  at.world.isInstalled = true;
  const agent = agentOn(at);
  await agent.configure(1, managed);
  await agent.configure(2, { system_configuration: { os_auto_upgrade_type: '' } });
  await agent.configure(3, disabled);
  await agent.reports(`disable_system_configuration is true; restored: ${journaldFile}`);
  await agent.stop();
});

test('disabled on a system without apt: the status names it, and ends with it', async () => {
  await using at = await aptMachine();
  at.world.hasApt = false;
  const agent = agentOn(at);
  await agent.configure(1, { system_configuration: {} });
  await agent.configure(2, { ...disabled, system_configuration: {} });
  await agent.reports(`disable_system_configuration is true; restored: ${journaldFile}`);
  assert.equal(agent.status.get()?.hasApt, false);
  await agent.configure(3, { system_configuration: {} });
  await agent.reports(undefined);
  await agent.stop();
});
