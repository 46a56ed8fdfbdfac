// Tests the project rules: sizes, names, clocks, text, errors, types, lint and format.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { longClasses } from './house/classes.ts';
import { longFunctions, linesByName } from './house/functions.ts';
import { excess, readLimits } from './house/limits.ts';
import { lenientByUnit, lenientReads } from './house/text-reading.ts';
import { bare, code, isTest, read, root, sources, tracked } from './house/tree.ts';

// A command has the name of what it does, an adapter the name of its port.
test('no two files of the agent have the same name', () => {
  const places = new Map<string, string[]>();
  for (const file of sources.filter((one) => one.startsWith('apps/agent/src/'))) {
    if (/^apps\/agent\/src\/(commands|os\/\w+)\//.test(file)) continue;
    const name = path.basename(file);
    places.set(name, [...(places.get(name) ?? []), file]);
  }
  assert.deepEqual(
    [...places.values()].filter((files) => files.length > 1),
    [],
  );
});

test('no function has more than 60 lines but those of tools/house/long-functions.json', () => {
  const found = longFunctions();
  const where = found.map(({ file, name, lines }) => `${file}: ${name} ${lines}`);
  assert.deepEqual(excess(readLimits('long-functions'), linesByName(found)), [], where.join('\n'));
});

test('no class has more than 250 lines without its comments', () => {
  assert.deepEqual(longClasses(code), []);
});

test('text is decoded strictly, but in the places of tools/house/text-reading.json: use readText of the kit', () => {
  assert.deepEqual(excess(readLimits('text-reading'), lenientByUnit()), []);
});

const reads: [source: string, lenient: number][] = [
  ["await readFile(file, 'utf8')", 1],
  ['readFileSync(\n  path.join(folder, name),\n  "utf-8",\n)', 1],
  ["readFile('/proc/self/status', 'utf8'); readFileSync(`/sys/class/net/${name}/ifindex`, 'utf8')", 0],
  ["readFile(`${prefix}/proc/locks`, 'utf8')", 0],
  ['await readFile(file); await readText(file)', 0],
  ["Buffer.concat(chunks).toString('utf8')", 1],
  ['new TextDecoder(); new TextDecoder("utf-8", { fatal: true })', 1],
  ['await text(process.stdin)', 1],
];
for (const [source, lenient] of reads)
  test(`lenient reading: ${source}`, () => assert.equal(lenientReads(source), lenient));

test('no source file has more than 500 lines, nine of ten have at most 300', () => {
  const sizes = sources.map((file) => [file, read(file).split('\n').length] as const).toSorted((a, b) => b[1] - a[1]);
  assert.deepEqual(
    sizes.filter(([, lines]) => lines > 500),
    [],
  );
  const p90 = sizes[Math.floor(sizes.length / 10)]?.[1] ?? 0;
  assert.ok(
    p90 <= 300,
    `p90 is ${p90} lines: ${sizes
      .slice(0, Math.ceil(sizes.length / 10))
      .map(([file, n]) => `${file} ${n}`)
      .join(', ')}`,
  );
});

// The script of the captive portal is text for browsers, which have no kit.
const clocks =
  /^(apps\/agent\/src\/endpoints\/script\.ts$|packages\/kit\/src\/(node|web|testing)\/|clients\/typescript\/src\/clock\.ts$|trainers\/[^/]+\/src\/clock\.ts$|tools\/)/;
const forbidden: readonly [what: string, pattern: RegExp, where: (file: string) => boolean][] = [
  [
    'timers and clocks outside the kit',
    /\b(setTimeout|setInterval|Date\.now|performance\.now)\s*\(|\bnew Date\(\)/,
    (file) => !clocks.test(file),
  ],
  ['asserted calls', /toHaveBeenCalled|\.mock\.calls|mock\.method\(/, () => true],
  ['default exports', /^export default\b/m, (file) => !file.endsWith('.config.ts')],
  ['any', /:\s*any\b|\bas any\b|<any>/, () => true],
  ['module state', /^(export )?let\b/m, () => true],
  ['switched-off checks', /@ts-ignore|@ts-nocheck|@ts-expect-error|oxlint-disable|eslint-disable/, () => true],
  ['enums, namespaces', /^\s*(export )?(declare )?(const )?(enum|namespace) \w+ *\{/m, () => true],
];
for (const [what, pattern, where] of forbidden) {
  test(`nowhere: ${what}`, () => {
    const files =
      what === 'timers and clocks outside the kit' ? sources.filter((f) => !f.startsWith('e2e/bench/')) : code;
    const view = what === 'switched-off checks' ? read : bare;
    assert.deepEqual(
      files.filter((file) => where(file) && file !== 'tools/house.test.ts' && pattern.test(view(file))),
      [],
    );
  });
}

test('nowhere: tests switched off or left to do', () => {
  const pattern = /\b(test|it|describe|suite)\.(skip|only|todo)\b|\{[^}]*\b(skip|todo|only): *(true|['"])/;
  assert.deepEqual(
    code.filter((file) => isTest(file) && file !== 'tools/house.test.ts' && pattern.test(read(file))),
    [],
  );
});

test('files and folders have names that say what they hold', () => {
  const words =
    /^(utils?|commons?|helpers?|managers?|services?|types|interfaces|models|constants|core|lib|shared|misc|base|impl)$/;
  const wrong = sources.filter(
    (file) =>
      path.posix
        .dirname(file)
        .split('/')
        .some((part) => words.test(part)) || words.test(path.posix.basename(file).replace(/\.[^.]+$/, '')),
  );
  assert.deepEqual(wrong, []);
  assert.deepEqual(
    sources.filter((file) => !/^[a-z0-9.-]+$/.test(path.posix.basename(file))),
    [],
  );
});

test('the repository holds no path of one machine and no registry address', () => {
  const pattern = /(^|[^A-Za-z0-9_.-])\/(work|farm)\/[A-Za-z0-9_.]|registry\.npmjs|pypi\.org|"resolved": *"https?:/;
  const wrong = tracked.filter((file) => {
    if (
      file === 'tools/house.test.ts' ||
      !/\.(tsx?|mjs|json|md|sh|py|sql|proto|yaml|yml|css|html|txt|toml)$|^\.npmrc$|^\.ci\//.test(file)
    )
      return false;
    return pattern.test(readFileSync(path.join(root, file), 'utf8'));
  });
  assert.deepEqual(wrong, []);
});

test('every row of the error table is thrown somewhere and known to a test', () => {
  const rows = sources.filter((file) => /^packages\/contract\/src\/errors\/rows\/[\w-]+\.ts$/.test(file));
  const table = rows.map(read).join('\n');
  const codes = [...table.matchAll(/^ {2}([A-Z][A-Z0-9_]+): \{/gm)].map((match) => match[1] ?? '');
  assert.ok(codes.length > 10, 'the error table was not found');
  const used = sources
    .filter((file) => !rows.includes(file))
    .map(read)
    .join('\n');
  assert.deepEqual(
    codes.filter((name) => !new RegExp(`['"]${name}['"]`).test(used)),
    [],
    'rows that nothing throws',
  );
});

const program = (name: string): string => path.join(root, 'node_modules', '.bin', name);
const green = (command: string, ...args: string[]): void => {
  const done = spawnSync(command, args, { cwd: root, encoding: 'utf8', maxBuffer: 1 << 26 });
  assert.equal(
    done.status,
    0,
    `${path.basename(command)} ${args.join(' ')}\n${`${done.stdout}${done.stderr}`.slice(0, 6000)}`,
  );
};
test('types', () => green(program('tsc'), '--noEmit', '-p', '.'));
test('types of the web app', () => green(program('tsc'), '--noEmit', '-p', 'apps/web'));
test('types of the conformance suite', () => green(program('tsc'), '--noEmit', '-p', 'clients/conformance'));
test('lint', () => green(program('oxlint'), '--deny-warnings', '--type-aware', '.'));
test('format', () => green(program('oxfmt'), '--check', '.'));
test('generated files are current', () => green(process.execPath, 'tools/gen.ts', '--check'));
