// Tests the project rules: allowed imports, no cycles, sizes, names, clocks, types.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { longClasses } from './house/classes.ts';
import { cyclesIn } from './house/cycles.ts';
import { folderCircles } from './house/folders.ts';
import { longFunctions, linesByName } from './house/functions.ts';
import { excess, readLimits } from './house/limits.ts';
import { lenientByUnit, lenientReads } from './house/text-reading.ts';
import { bare, code, importsOf, isCode, isTest, read, root, sources, tracked } from './house/tree.ts';

/** The pure rules of each cloud folder; they may import each other. */
const cloudRules = Object.fromEntries(
  [...new Set(sources.flatMap((file) => /^apps\/cloud\/src\/[\w-]+\/rules(?=\/)/.exec(file) ?? []))].map(
    (folder, _, all) => [folder, ['@platform/contract', '@platform/kit', '@bufbuild/protobuf', ...all]] as const,
  ),
);
/** Allowed imports besides the folder itself; the longest matching folder applies. '*': any package of the registry. */
const may: Readonly<Record<string, readonly string[]>> = {
  'packages/contract/src': ['zod', '@bufbuild/protobuf'],
  'packages/kit/src': [],
  'packages/kit/src/node': ['packages/kit/src', 'node:'],
  'packages/kit/src/testing': ['packages/kit/src', 'node:'],
  'packages/kit/src/web': ['packages/kit/src'],
  'apps/agent/src': ['@platform/contract', '@platform/kit', 'node:', '*'],
  'apps/agent/src/state': ['@platform/contract', '@platform/kit'],
  'apps/agent/src/versions/plans': ['@platform/contract', '@platform/kit', 'apps/agent/src/state'],
  'apps/agent/src/state-machines': ['@platform/contract', '@platform/kit'],
  'apps/agent/src/os/posix': ['apps/agent/src/os', '@platform/kit', '@platform/contract', 'node:'],
  'apps/agent/src/os/linux': ['apps/agent/src/os', '@platform/kit', '@platform/contract', 'node:', 'bun:'],
  // Server, page and command line tell images by the same first bytes.
  'apps/cloud/src': [
    '@platform/contract',
    '@platform/dataset-files/image-header',
    '@platform/kit',
    '@platform/releases',
    '@platform/sandbox',
    'node:',
    '*',
  ],
  ...cloudRules,
  'apps/machine-server/src': [
    '@platform/contract',
    '@platform/kit',
    '@platform/sandbox/model-archive',
    '@platform/sandbox/package-checksum',
    'node:',
    '*',
  ],
  'apps/runner/src': ['@platform/contract', '@platform/kit', '@platform/sandbox', 'node:', '*'],
  'apps/web': ['@platform/contract', '@platform/kit', '@platform/dataset-files', '*'],
  'apps/cli/src': [
    '@platform/contract',
    '@platform/dataset-files',
    '@platform/kit',
    '@platform/releases',
    '@platform/sandbox',
    '@platform/client',
    '@platform/objects-10',
    'node:',
    '*',
  ],
  'clients/typescript/src': [
    '@platform/contract',
    '@connectrpc/connect',
    '@connectrpc/connect-web',
    '@bufbuild/protobuf',
  ],
  'clients/conformance': [
    'node:',
    '@viamrobotics/sdk',
    '@connectrpc',
    '@bufbuild/protobuf',
    '@platform/kit',
    '@platform/contract',
    'e2e/src',
  ],
  'packages/dataset-files/src': ['@platform/contract', '*'],
  'packages/dataset-files/test': ['@platform/contract', 'packages/dataset-files/src', 'node:', '*'],
  'packages/releases/src': ['@platform/contract', '@platform/kit', 'node:', '*'],
  'packages/sandbox/src': ['@platform/contract', '@platform/kit', 'node:', '*'],
  trainers: [
    '@platform/contract/job/job',
    '@platform/contract/job/evaluation',
    '@platform/contract/job/confidence',
    '@platform/contract/job/cross-validation',
    '@platform/contract/job/model-file',
    '@platform/contract/job/model-kinds',
    '@platform/contract/job/model-output',
    '@platform/contract/job/predictions',
    '@platform/trainer-engine',
    '@platform/contract/errors/errors',
    '@platform/contract/job/image-limits',
    '@platform/contract/job/trainer-settings',
    'node:',
    '*',
  ],
  datasets: ['node:', '*'],
  e2e: [
    '@platform/contract',
    '@platform/dataset-files',
    '@platform/kit',
    '@platform/releases',
    '@platform/client',
    '@platform/objects-10',
    'node:',
    '*',
  ],
  // The builder signs archives in the format that the installation checks, and checks SBOMs as the publisher does; the
  // environment of children has one rule.
  tools: [
    'node:',
    '@platform/contract',
    '@platform/releases/archive-signature',
    '@platform/releases/sbom',
    'packages/contract/src',
    'packages/kit/src/node/environment.ts',
    '*',
  ],
  // The generators import the code that they document.
  'tools/gen': [
    'node:',
    '@platform/contract',
    '@platform/releases',
    'apps/agent/src',
    'apps/cloud/src',
    'apps/machine-server/src',
    'apps/web/src/ui',
    '*',
  ],
};
const isOurs = (to: string): boolean => to.startsWith('@platform/');
const folderOf = (file: string): string =>
  Object.keys(may)
    .filter((folder) => file.startsWith(`${folder}/`))
    .toSorted((a, b) => b.length - a.length)[0] ?? '';
const folderOfTrainer = (file: string): string => file.split('/')[1] ?? '';
const within = (to: string, place: string): boolean =>
  to === place || to.startsWith(place.endsWith(':') ? place : `${place}/`);

test('every source file lies under a folder with an import rule', () => {
  assert.deepEqual(
    sources.filter((file) => folderOf(file) === ''),
    [],
  );
});

for (const folder of Object.keys(may)) {
  test(`${folder} imports only what it may`, () => {
    const allowed = may[folder] ?? [];
    const wrong: string[] = [];
    for (const file of sources.filter((f) => folderOf(f) === folder && !f.endsWith('.config.ts'))) {
      for (const { to } of importsOf(file)) {
        const isLocal = !to.startsWith('@') && !to.startsWith('node:') && isCode(to);
        const isOwn =
          within(to, folder) ||
          to === `${file.split('/').slice(0, 2).join('/')}/package.json` ||
          (isLocal &&
            to.split('/').slice(0, 2).join('/') === file.split('/').slice(0, 2).join('/') &&
            !/\/(plans|rules)\/|agent\/src\/(state-machines|state)\//.test(file) &&
            !/kit\/src/.test(file) &&
            !/agent\/src\/os\/(posix|linux)/.test(file));
        const isRegistry =
          !isLocal &&
          !isOurs(to) &&
          !to.startsWith('node:') &&
          !/^(packages|apps|clients|trainers|e2e|tools)\//.test(to);
        const ok = isOwn || allowed.some((place) => (place === '*' ? isRegistry : within(to, place)));
        if (!ok) wrong.push(`${file} must not import ${to}`);
        if (to.startsWith('@platform/kit/testing') && !/^(e2e|clients\/conformance)\//.test(file))
          wrong.push(`${file}: kit/testing is for tests`);
        if (
          file.startsWith('apps/web/') &&
          (to === '@platform/kit/node' || to.startsWith('node:')) &&
          !file.endsWith('.config.ts')
        )
          wrong.push(`${file}: the web app has no ${to}`);
        if (to.startsWith('apps/') && folder !== 'tools/gen' && !to.startsWith(file.split('/').slice(0, 2).join('/')))
          wrong.push(`${file} imports another app: ${to}`);
      }
    }
    assert.deepEqual(wrong, []);
  });
}

// What trainers share lies in the engine. The tests of the prediction job run on models of the other two.
test('no trainer imports another trainer, nor does its bench', () => {
  const wrong = sources
    .filter((file) => file.startsWith('trainers/') && !file.startsWith('trainers/prediction/test/'))
    .flatMap((file) => {
      const isOwn = (to: string): boolean =>
        [folderOfTrainer(file), 'engine', 'weights'].includes(folderOfTrainer(to)) || !to.startsWith('trainers/');
      return importsOf(file).flatMap(({ to }) => (isOwn(to) ? [] : [`${file} must not import ${to}`]));
    });
  assert.deepEqual(wrong, []);
});

test('no file is part of an import cycle', () => {
  const graph = new Map(
    code.map((file) => [
      file,
      new Set(
        importsOf(file)
          .filter((i) => !i.isType && isCode(i.to))
          .map((i) => i.to),
      ),
    ]),
  );
  assert.deepEqual(cyclesIn(graph), []);
});

test('no file of the cloud is part of a cycle, types included', () => {
  const cloud = sources.filter((file) => file.startsWith('apps/cloud/src/'));
  const graph = new Map(
    cloud.map((file) => [file, new Set(importsOf(file).flatMap(({ to }) => (isCode(to) ? to : [])))]),
  );
  assert.deepEqual(cyclesIn(graph), []);
});

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

test('no folders import each other in a circle, types included', () => {
  const circles = [...folderCircles(sources)].filter(([, found]) => found.length > 0);
  assert.deepEqual(circles, []);
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

test("the runtime's own modules stand in two files, so that every program also runs on a Node", () => {
  const own = new Set([
    'apps/agent/src/os/linux/kernel/libc.ts',
    'apps/agent/src/os/windows/win32.ts',
    'apps/agent/src/os/windows/win32-machine.ts',
  ]);
  assert.deepEqual(
    sources.filter(
      (file) =>
        !own.has(file) && (importsOf(file).some(({ to }) => to.startsWith('bun:')) || /\bBun\./.test(bare(file))),
    ),
    [],
  );
  // Not as a static import: another runtime must be able to load the file.
  assert.deepEqual(
    [...own].filter((file) => /^import .*['"]bun:/m.test(read(file))),
    [],
  );
});

test('folders of the agent are in no circle at any depth, types included', () => {
  const agent = sources.filter((file) => file.startsWith('apps/agent/src/'));
  const circles = new Map<string, string[][]>();
  for (const folder of new Set(agent.map((file) => path.posix.dirname(file)))) {
    // Each file directly in the folder is one node; each subfolder with all its files is one node.
    const nodeOf = (file: string): string =>
      file
        .slice(folder.length + 1)
        .split('/')
        .slice(0, -1)[0] ?? '.';
    const inside = agent.filter((file) => within(file, folder));
    const edges = new Map(inside.map((file) => [nodeOf(file), new Set<string>()]));
    for (const file of inside) {
      for (const { to } of importsOf(file)) if (inside.includes(to)) edges.get(nodeOf(file))?.add(nodeOf(to));
    }
    const cycles = cyclesIn(edges);
    if (cycles.length > 0) circles.set(folder, cycles);
  }
  assert.deepEqual([...circles], []);
});

test('of the agent only its composition imports a platform', () => {
  const places = ['apps/agent/src/os', 'apps/agent/src/composition'];
  const others = sources.filter((file) => within(file, 'apps/agent/src') && !places.some((at) => within(file, at)));
  const platform = /^apps\/agent\/src\/os\/\w+\//;
  assert.deepEqual(
    others.filter((file) => importsOf(file).some(({ to }) => platform.test(to))),
    [],
  );
});

// Decision 0158.
test('the web app has layers, and no feature imports another', () => {
  const layers = ['ui', 'entities', 'features', 'app'];
  const placeOf = (file: string) => /^apps\/web\/src\/(\w+)\/([\w-]+)/.exec(file);
  const wrong: string[] = [];
  for (const file of sources) {
    const [, layer = '', subject] = placeOf(file) ?? [];
    if (layer === '') continue;
    for (const { to } of importsOf(file)) {
      const [, below = layer, other = subject] = placeOf(to) ?? [];
      const isDown = layers.indexOf(below) < layers.indexOf(layer);
      const isAside = below === layer && (layer !== 'features' || other === subject);
      if (!isDown && !isAside) wrong.push(`${file} must not import ${to}`);
    }
  }
  assert.deepEqual(wrong, []);
});

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

test('CONTRIBUTING.md names files that are there', () => {
  const text = readFileSync(path.join(root, 'CONTRIBUTING.md'), 'utf8');
  const named = [...text.matchAll(/[`(]((?:apps|packages|clients|trainers|tools|docs|e2e|changes)\/[\w./-]*)[`)]/g)];
  assert.ok(named.length > 40, `${named.length} names`);
  const isThere = (name: string): boolean =>
    tracked.some((file) => file === name || file.startsWith(name.endsWith('/') ? name : `${name}/`));
  assert.deepEqual(
    named.map(([, name = '']) => name).filter((name) => !isThere(name)),
    [],
  );
});

test('the map of the versions folder names each of its files, and none else', () => {
  const folder = 'apps/agent/src/versions';
  const text = readFileSync(path.join(root, folder, 'README.md'), 'utf8');
  const named = [...text.matchAll(/`([\w/-]+\.ts)`/g)].map(([, name = '']) => name);
  const files = sources.flatMap((file) =>
    within(file, folder) && !within(file, `${folder}/trust`) ? [file.slice(folder.length + 1)] : [],
  );
  const isThere = (name: string): boolean => [folder, 'apps/agent/src'].some((at) => tracked.includes(`${at}/${name}`));
  assert.deepEqual(
    { missing: files.filter((file) => !named.includes(file)), absent: named.filter((name) => !isThere(name)) },
    { missing: [], absent: [] },
  );
});

test('the walks of ARCHITECTURE.md have at most 12 stations: a file that is there, and 5 to 12 words', () => {
  const text = readFileSync(path.join(root, 'ARCHITECTURE.md'), 'utf8');
  const walks = (text.split('\n## Walks\n')[1]?.split('\n## ')[0] ?? '').split(/^\*\*(?=.*\*\*$)/m).slice(1);
  assert.equal(walks.length, 6);
  const wrong = walks.flatMap((walk) => {
    const [title = '', ...rest] = walk.trim().split('\n');
    const unreadable = rest.filter((line) => {
      const [, file = '', what = ''] = /^\d+\. `([^`]+)`: (.+)$/.exec(line) ?? [];
      const words = what.split(/\s+/).length;
      return !tracked.includes(file) || words < 5 || words > 12;
    });
    return [...unreadable, ...(rest.length >= 8 && rest.length <= 12 ? [] : [`${title} has ${rest.length} stations`])];
  });
  assert.deepEqual(wrong, []);
});

test('each app, package, trainer and client has a README that names files that are there', () => {
  const folders = [
    ...new Set(tracked.flatMap((file) => /^(?:apps|packages|trainers|clients)\/[\w-]+(?=\/)/.exec(file) ?? [])),
  ];
  assert.ok(folders.length > 15);
  const published = ['clients/typescript', 'clients/python']; // Theirs is the page of the package in its registry.
  const wrong = folders.flatMap((folder) => {
    const page = `${folder}/README.md`;
    if (!tracked.includes(page)) return [`${page} is missing`];
    if (published.includes(folder)) return [];
    const text = readFileSync(path.join(root, page), 'utf8');
    const named = [...text.matchAll(/^\| `([\w./-]+)` \|/gm)].map(([, name = '']) => `${folder}/${name}`);
    const lines = text.trimEnd().split('\n').length;
    return [
      ...(lines < 10 || lines > 30 ? [`${page} has ${lines} lines, not 10 to 30`] : []),
      ...(named.length === 3 ? [] : [`${page} names ${named.length} files, not three`]),
      ...['**Imports**', '**Tests**'].filter((part) => !text.includes(part)).map((part) => `${page} lacks ${part}`),
      ...named.filter((name) => !tracked.some((file) => file === name || file.startsWith(`${name}/`))),
    ];
  });
  assert.deepEqual(wrong, []);
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
