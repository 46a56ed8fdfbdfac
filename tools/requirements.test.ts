// What the specification asks for is read by some program, and what docs/behaviours.md promises is held by a test.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { errorTable } from '../packages/contract/src/error-table.ts';
import { fieldTable } from '../packages/contract/src/gen/agent-config.gen.ts';

const root = path.resolve(import.meta.dirname, '..');

/** Fields of the configuration that no program reads yet. The list only shrinks, and in the end it is empty. */
const notReadYet = [
  'advanced_settings.disable_network_configuration',
  'advanced_settings.disable_system_configuration',
  ...Object.keys(fieldTable.network_configuration).map((key) => `network_configuration.${key}`),
  ...Object.keys(fieldTable.additional_networks).map((key) => `additional_networks.${key}`),
  ...Object.keys(fieldTable.system_configuration).map((key) => `system_configuration.${key}`),
];

test('every field of the configuration is read by the agent, versions by the server, but for those listed', () => {
  const sources = globSync('apps/agent/src/**/*.ts', { cwd: root }).filter((file) => !file.endsWith('.test.ts'));
  const text = sources.map((file) => readFileSync(path.join(root, file), 'utf8')).join('\n');
  const answers = readFileSync(path.join(root, 'apps/cloud/src/agent-answers.ts'), 'utf8');
  const isRead = (section: string, key: string): boolean =>
    section === 'version_control'
      ? answers.includes(`wishes['${key}']`) // the server finds out which release a version is
      : new RegExp(`\\b${section}\\.${key}\\b`).test(text);
  const unread = Object.entries(fieldTable)
    .filter(([section]) => section !== 'maintenance_window')
    .flatMap(([section, fields]) =>
      Object.keys(fields)
        .filter((key) => !isRead(section, key))
        .map((key) => `${section}.${key}`),
    );
  assert.deepEqual(unread.toSorted(), notReadYet.toSorted());
  assert.match(text, /config\.maintenance_window\b/);
});

test('every behaviour that is promised names a test that is there, and no id twice', () => {
  const rows = readFileSync(path.join(root, 'docs/behaviours.md'), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| B-'))
    .map((line) => line.split('|').map((cell) => cell.trim()));
  assert.ok(rows.length > 20);
  const ids = rows.map((cells) => cells[1]);
  assert.equal(new Set(ids).size, ids.length);
  const missing = rows.filter(([, , , , held = '']) => {
    const [, file = '', title = ''] = /^`([^`]+)` (.+)$/.exec(held) ?? [];
    try {
      return !readFileSync(path.join(root, file), 'utf8')
        .split('\n')
        .some((line) => /^\s*(?:\w+\.)?(?:test|on)\(/.test(line) && line.includes(title));
    } catch {
      return true;
    }
  });
  assert.deepEqual(missing, []);
});

test('an error is thrown with everything that its sentence names', () => {
  const incomplete: string[] = [];
  for (const file of globSync('{apps,packages,clients,trainers}/**/*.{ts,tsx}', { cwd: root })) {
    if (file.includes('node_modules') || file.endsWith('.test.ts')) continue;
    const text = readFileSync(path.join(root, file), 'utf8');
    for (const [whole, code = '', data = ''] of text.matchAll(
      /new PlatformError\(\s*'(\w+)'(?:,\s*(\{[^]*?\}|[\w.]+))?[,)\s]/g,
    )) {
      const message = (errorTable as Record<string, { message: string }>)[code]?.message ?? '';
      const needed = [...message.replaceAll(/\[[^\]]*\]/g, '').matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
      const isSpread = !data.startsWith('{') || data.includes('...');
      const missing = needed.filter((name) => !new RegExp(`\\b${name}\\b`).test(data));
      if (missing.length > 0 && (!isSpread || data === ''))
        incomplete.push(`${file}: ${whole} lacks ${missing.join(', ')}`);
    }
  }
  assert.deepEqual(incomplete, []);
});
