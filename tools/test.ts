// npm test [-- FILE-OR-FOLDER …]: builds what the tests start, then runs Node's test runner. Its summary comes last.
// PLATFORM_TEST_CONCURRENCY=N runs N files at once, by default 2.
// npm run test:full runs the *.full.test.ts files instead. They need Debian packages or PyPI, which it installs first.
// npm run test:lab runs the *.lab.test.ts files: whole machines with systemd and power cuts; root on Debian, an hour.
// npm run test:nightly runs the *.nightly.test.ts files: an emulated machine with another processor, large datasets, and the
// stories of the web app on a narrow screen; as test:lab, half an hour and more.
// npm run test:attack runs the *.attack.test.ts files: hostile callers against a running server, on loopback, bounded.
// PLATFORM_ATTACK=short runs fewer rounds of each; all rounds of all write docs/measurements/attack.md.
import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { plainEnvironment } from '../packages/kit/src/node/environment.ts';
import { installForFull, pythonEnvironment } from './full-needs.ts';
import { prepareLab, prepareNightly } from './lab-needs.ts';

const root = path.resolve(import.meta.dirname, '..');
const kind =
  new Map([
    ['--full', 'full'],
    ['--lab', 'lab'],
    ['--attack', 'attack'],
    ['--nightly', 'nightly'],
  ]).get(process.argv[2] ?? '') ?? 'plain';
const wanted = process.argv.slice(kind === 'plain' ? 2 : 3);
const kindOf = (file: string): string => /\.(full|lab|attack|nightly)\.test\.ts$/.exec(file)?.[1] ?? 'plain';
const patterns = ['packages', 'apps', 'trainers', 'datasets', 'clients', 'tools', 'e2e'].map(
  (folder) => `${folder}/**/*.test.ts`,
);
const all = globSync(patterns, { cwd: root, exclude: (name) => name.includes('node_modules') })
  .filter((file) => kindOf(file) === kind)
  .toSorted();
const inside = (file: string, place: string): boolean => {
  const relative = path.relative(root, path.resolve(place));
  return (
    file === relative ||
    relative === '' ||
    (statSync(place, { throwIfNoEntry: false })?.isDirectory() === true && file.startsWith(`${relative}/`))
  );
};
const files = wanted.length === 0 ? all : all.filter((file) => wanted.some((place) => inside(file, place)));
if (files.length === 0) {
  process.stderr.write(`No test file in ${wanted.join(', ')}.\n`);
  process.exit(1);
}
if (kind === 'lab') prepareLab(root);
if (kind === 'nightly') prepareNightly(root);
const ofMachines = kind === 'lab' || kind === 'nightly';
const references = (['keras', 'torch'] as const).filter(
  (name) => kind === 'nightly' && files.some((file) => file.includes(`reference-${name}`)),
);
const needsPython = kind === 'lab' && files.some((file) => file.startsWith('clients/'));
/** What steers tests; everything else of ours that happens to be set stays away from them. */
const settings = Object.fromEntries(
  Object.entries(process.env).filter(([name]) =>
    /^PLATFORM_(?:ATTACK|CHROMIUM|JOBS|KILL_POINTS|LAB|NO_SKIPS|TEST)(?:_|$)/.test(name),
  ),
);
const moreEnv =
  kind === 'full'
    ? installForFull(root)
    : {
        ...(needsPython && { PLATFORM_TEST_PYTHON: pythonEnvironment(root) }),
        ...Object.fromEntries(
          references.map((name) => [`PLATFORM_TEST_${name.toUpperCase()}_PYTHON`, pythonEnvironment(root, name)]),
        ),
      };
const built = spawnSync(process.execPath, [path.join(root, 'tools', 'build.ts')], {
  env: plainEnvironment(),
  cwd: root,
  stdio: ['ignore', 'ignore', 'inherit'],
});
if (built.status !== 0) process.exit(built.status ?? 1);
const record = path.join(mkdtempSync(path.join(tmpdir(), 'platform-tests-')), 'tap');
const done = spawnSync(
  process.execPath,
  [
    '--disable-warning=ExperimentalWarning',
    '--test',
    '--test-reporter=spec',
    '--test-reporter-destination=stdout',
    '--test-reporter=tap',
    `--test-reporter-destination=${record}`,
    // Two emulated machines slow each other down; containers mostly wait.
    `--test-concurrency=${ofMachines ? (process.env['PLATFORM_LAB_CONCURRENCY'] ?? 1) : (process.env['PLATFORM_TEST_CONCURRENCY'] ?? 2)}`,
    // The longest one is the random walk of network failures: an hour, and what it needs before and after.
    `--test-timeout=${ofMachines ? 9_000_000 : kind === 'attack' ? 3_600_000 : 420_000}`,
    ...files,
  ],
  {
    cwd: root,
    stdio: 'inherit',
    env: plainEnvironment({ ...settings, ...moreEnv }),
  },
);
if (kind === 'attack' && wanted.length === 0 && process.env['PLATFORM_ATTACK'] !== 'short')
  spawnSync(process.execPath, [path.join(root, 'e2e/src/write-attacks.ts'), record], {
    env: plainEnvironment(settings),
    stdio: 'inherit',
  });
const skipped = readFileSync(record, 'utf8').match(/^ *ok .*# SKIP.*$/gm) ?? [];
rmSync(path.dirname(record), { recursive: true, force: true });
// With PLATFORM_NO_SKIPS=1, as in CI, all requirements are installed, so a skipped test is a failure.
if (process.env['PLATFORM_NO_SKIPS'] === '1' && skipped.length > 0) {
  process.stderr.write(`${skipped.length} tests were skipped:\n${skipped.join('\n')}\n`);
  process.exit(1);
}
process.exit(done.status ?? 1);
