// Builds the package of the TypeScript client: JavaScript and declarations, with the used parts of the contract.
// node tools/client-package.ts [--out FOLDER]; prints {"folder", "version"}, ready for `npm pack FOLDER` and `npm publish FOLDER`.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';

const root = path.resolve(import.meta.dirname, '..');
const client = path.join(root, 'clients', 'typescript');
const contract = path.join(root, 'packages', 'contract', 'src');
/** Matches an import of another file: relative, or from the contract. */
const named = /((?:from|import)\s*\(?\s*)(["'])(\.{1,2}\/[^"']+\.ts|@platform\/contract\/[^"']+)\2/g;

/** Copies the sources and all their imports below `to`; each import becomes relative and names the JavaScript file. */
function stage(to: string): void {
  const seen = new Set<string>();
  const waiting = [path.join(client, 'src', 'index.ts')];
  const placeOf = (file: string): string =>
    file.startsWith(contract)
      ? path.join(to, 'contract', path.relative(contract, file))
      : path.join(to, path.relative(path.join(client, 'src'), file));
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (seen.has(file)) continue;
    seen.add(file);
    const from = file;
    const text = readFileSync(from, 'utf8').replace(named, (_, before: string, quote: string, name: string) => {
      const target = name.startsWith('.')
        ? path.resolve(path.dirname(from), name)
        : path.join(contract, `${name.slice('@platform/contract/'.length)}.ts`);
      waiting.push(target);
      const relative = path.relative(path.dirname(placeOf(from)), placeOf(target)).replace(/\.ts$/, '.js');
      return `${before}${quote}${relative.startsWith('.') ? relative : `./${relative}`}${quote}`;
    });
    if (/["']@platform\//.test(text)) throw new Error(`${from} imports a package of the workspace`);
    mkdirSync(path.dirname(placeOf(from)), { recursive: true });
    writeFileSync(placeOf(from), text);
  }
}

/** `lib` has no newer names, so that code fails to compile if it needs more than Node 18. */
const compilerOptions = {
  target: 'es2022',
  module: 'node16',
  moduleResolution: 'node16',
  lib: ['es2022', 'dom', 'dom.iterable', 'dom.asynciterable'],
  types: [],
  strict: true,
  declaration: true,
  skipLibCheck: true,
  rootDir: 'src',
};

interface Package {
  version: string;
  license: string;
  description: string;
  keywords: string[];
  engines: Record<string, string>;
  dependencies: Record<string, string>;
}

function packageJson(): Record<string, unknown> {
  const { version, license, description, keywords, engines, dependencies } = JSON.parse(
    readFileSync(path.join(client, 'package.json'), 'utf8'),
  ) as Package;
  const outside = Object.entries(dependencies).filter(([name]) => !name.startsWith('@platform/'));
  return {
    name: '@platform/client',
    version,
    description,
    keywords,
    license,
    type: 'module',
    sideEffects: false,
    engines,
    exports: { '.': { types: './lib/index.d.ts', default: './lib/index.js' } },
    files: ['lib'],
    dependencies: Object.fromEntries(outside),
  };
}

const { values } = parseArgs({ options: { out: { type: 'string', default: path.join(root, 'dist', 'client') } } });
const out = path.resolve(values.out);
const work = mkdtempSync(path.join(tmpdir(), 'platform-client-'));
try {
  stage(path.join(work, 'src'));
  symlinkSync(path.join(root, 'node_modules'), path.join(work, 'node_modules'));
  writeFileSync(path.join(work, 'package.json'), '{"type":"module"}');
  const config = { compilerOptions: { ...compilerOptions, outDir: path.join(work, 'lib') }, include: ['src'] };
  writeFileSync(path.join(work, 'tsconfig.json'), JSON.stringify(config));
  const tsc = path.join(root, 'node_modules', '.bin', 'tsc');
  const done = spawnSync(tsc, ['-p', work], { stdio: ['ignore', 2, 2] });
  if (done.status !== 0) process.exit(done.status ?? 1);
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  cpSync(path.join(work, 'lib'), path.join(out, 'lib'), { recursive: true });
  const made = packageJson();
  writeFileSync(path.join(out, 'package.json'), `${JSON.stringify(made, null, 2)}\n`);
  cpSync(path.join(client, 'README.md'), path.join(out, 'README.md'));
  cpSync(path.join(root, 'LICENSE'), path.join(out, 'LICENSE'));
  process.stdout.write(`${JSON.stringify({ folder: out, version: made['version'] })}\n`);
} finally {
  rmSync(work, { recursive: true, force: true });
}
