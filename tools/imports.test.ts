// Tests who may import whom: layers, no circles of files or folders, platforms.
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { cyclesIn } from './house/cycles.ts';
import { folderCircles } from './house/folders.ts';
import { bare, code, importsOf, isCode, read, sources, within } from './house/tree.ts';

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

test('no folders import each other in a circle, types included', () => {
  const circles = [...folderCircles(sources)].filter(([, found]) => found.length > 0);
  assert.deepEqual(circles, []);
});

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
