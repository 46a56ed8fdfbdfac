// Checks that the schema's statements on effects are true, and that a test covers each promise of docs/behaviours.
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { conditionTable } from '../packages/contract/src/conditions/condition-table.ts';
import type { Field } from '../packages/contract/src/config/field-row.ts';
import { errorTable } from '../packages/contract/src/errors/error-table.ts';
import { fieldTable } from '../packages/contract/src/gen/agent-config.gen.ts';
import { settingPages } from './gen/config-docs.ts';
import { measuredValues } from './gen/measured-values.ts';

const root = path.resolve(import.meta.dirname, '..');

test('every field whose schema says since when it acts is read by a program, and no other field is', () => {
  const sources = globSync('apps/agent/src/**/*.ts', { cwd: root }).filter((file) => !file.endsWith('.test.ts'));
  const text = sources.map((file) => readFileSync(path.join(root, file), 'utf8')).join('\n');
  const answers = readFileSync(path.join(root, 'apps/cloud/src/device-api/agent-answers.ts'), 'utf8');
  const isRead = (section: string, key: string): boolean =>
    section === 'version_control'
      ? answers.includes(`desired['${key}']`) // the server resolves a version to a release
      : section === 'maintenance_window' || section === 'additional_networks'
        ? text.includes(`config.${section}`) // read as one object
        : new RegExp(`\\b${section}\\.${key}\\b`).test(text);
  const fields = Object.entries(fieldTable).flatMap(([section, table]) =>
    Object.entries<Field>(table).map(([key, field]) => ({ section, key, isStated: field.since !== undefined })),
  );
  const wrong = fields
    .filter(({ section, key, isStated }) => isRead(section, key) !== isStated)
    .map(
      ({ section, key, isStated }) => `${section}.${key}: ${isStated ? 'nothing reads it' : 'is read, without since'}`,
    );
  assert.deepEqual(wrong, []);
  assert.ok(fields.some(({ isStated }) => isStated));
});

test('every field has an effect: none is checked, saved and sent for nothing', () => {
  const without = Object.entries(fieldTable).flatMap(([section, table]) =>
    Object.entries<Field>(table)
      .filter(([, { since }]) => since === undefined)
      .map(([key]) => `${section}.${key}`),
  );
  assert.deepEqual(without, []);
});

test('every setting group has a page that links to its generated table, and a link from the list of pages', () => {
  const page = (file: string): string => readFileSync(path.join(root, 'docs', file), 'utf8');
  const [generated, index] = [page('generated/config.md'), page('README.md')];
  const titles = [...generated.matchAll(/^## (.+)$/gm)].map(([, title = '']) => title);
  assert.deepEqual(Object.keys(settingPages), titles);
  for (const [title, file] of Object.entries(settingPages)) {
    const anchor = title.replaceAll('.', '');
    assert.ok(page(file).includes(`(generated/config.md#${anchor})`), `${file} does not link to its table`);
    assert.ok(generated.includes(`[${file}](../${file})`), `config.md does not link to ${file}`);
    assert.ok(index.includes(`(${file})`), `docs/README.md does not link to ${file}`);
  }
});

test('every behaviour that is promised names a test that is there, and no id twice', () => {
  const pages = globSync('docs/behaviours/*.md', { cwd: root }).filter((file) => !file.endsWith('README.md'));
  const text = pages.map((file) => readFileSync(path.join(root, file), 'utf8')).join('\n');
  const rows = [...text.matchAll(/^- \*\*(B-[A-Z0-9-]+)\*\* \S.*\n {2}`([^`]+)` (\S.*)$/gm)];
  assert.ok(rows.length > 700);
  assert.equal(rows.length, text.split('\n').filter((line) => line.startsWith('- ')).length, 'a row has another form');
  const ids = rows.map(([, id]) => id);
  assert.deepEqual(
    ids.filter((id, index) => ids.indexOf(id) !== index),
    [],
  );
  const missing = rows.filter(([, , file = '', title = '']) => !hasTest(file, title)).map(([row]) => row);
  assert.deepEqual(missing, []);
  const named = [...text.matchAll(/`([\w./-]+\.test\.ts)`/g)].map(([, file = '']) => file);
  assert.deepEqual(
    named.filter((file) => !existsSync(path.join(root, file))),
    [],
  );
  const index = readFileSync(path.join(root, 'docs/behaviours/README.md'), 'utf8');
  assert.deepEqual(
    pages.filter((file) => !index.includes(`](${path.basename(file)})`)),
    [],
  );
});

function hasTest(file: string, title: string): boolean {
  try {
    return readFileSync(path.join(root, file), 'utf8')
      .split('\n')
      .some((line) => /^\s*(?:\w+\.)?(?:test|on)\(/.test(line) && line.includes(title));
  } catch {
    return false;
  }
}

test('every measured value names a test that stops its source, and is listed once', () => {
  const names = measuredValues.map(({ value }) => value);
  assert.equal(new Set(names).size, names.length);
  const missing = measuredValues.filter(({ test: [file, title] }) => !hasTest(file, title)).map(({ value }) => value);
  assert.deepEqual(missing, []);
});

test('the table of advanced settings has each field with its default, and behaviours that are promised', () => {
  const page = readFileSync(path.join(root, 'docs/advanced-settings.md'), 'utf8');
  const promised = globSync('docs/behaviours/*.md', { cwd: root })
    .map((file) => readFileSync(path.join(root, file), 'utf8'))
    .join('\n');
  const rows = [...page.matchAll(/^\| `(\w+)` \| `(.+?)` \| .* \| (B-\S.*) \|$/gm)];
  assert.deepEqual(
    rows.map(([, key, value]) => [key, value]),
    Object.entries<Field>(fieldTable.advanced_settings).map(([key, field]) => [key, JSON.stringify(field.default)]),
  );
  const unknown = rows.flatMap(([, , , ids = '']) =>
    ids.split(', ').filter((id) => !promised.includes(`\n- **${id}** `)),
  );
  assert.deepEqual(unknown, []);
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

/** Sets a condition, or throws an error that is reported as one. */
const setter = /\b(?:set(?:Error)?Condition|conditionOf|noticedCondition|ownCondition|new PlatformError)\(/;
const programs = globSync('apps/{agent,cloud,machine-server}/src/**/*.ts', { cwd: root }).filter(
  (file) => !file.endsWith('.test.ts'),
);

test('every row of the table of conditions is set by a program', () => {
  const setting = programs
    .map((file) => readFileSync(path.join(root, file), 'utf8'))
    .filter((text) => setter.test(text));
  const unset = Object.keys(conditionTable).filter((code) => !setting.some((text) => text.includes(`'${code}'`)));
  assert.deepEqual(unset, []);
});

test('every error with which an update or an entry of the configuration fails is a row of the table of conditions', () => {
  /** Answers to commands on the machine, and an entry that only waits. */
  const others = ['NO_PREVIOUS_VERSION', 'VERSION_NOT_INSTALLED', 'RESOURCE_WAITS'];
  const folders = /^apps\/(?:agent\/src\/versions|machine-server\/src\/(?:resources|packages))\//;
  const thrown = programs
    .filter((file) => folders.test(file))
    .flatMap((file) => [...readFileSync(path.join(root, file), 'utf8').matchAll(/new PlatformError\(\s*'(\w+)'/g)])
    .map(([, code = '']) => code);
  assert.ok(thrown.length > 10);
  const missing = new Set(thrown.filter((code) => !Object.hasOwn(conditionTable, code) && !others.includes(code)));
  assert.deepEqual([...missing], []);
});
