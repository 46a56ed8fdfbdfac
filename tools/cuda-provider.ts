// npm run install:cuda copies ONNX Runtime's CUDA provider beside the ONNX Runtime that trains. Built-in trainings
// then run on an NVIDIA GPU. The npm package has no provider; the PyPI package of the same version has it, for CUDA 13.
// Needs python3 with pip, 1 GB in the temporary folder, 300 MB in node_modules. Repeat it after each npm install.
import { spawnSync } from 'node:child_process';
import { copyFileSync, globSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';

const packageFile = createRequire(import.meta.url).resolve('onnxruntime-node/package.json');
const { version } = JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string };
const libraries = ['libonnxruntime_providers_shared.so', 'libonnxruntime_providers_cuda.so'];

function fail(text: string): never {
  process.stderr.write(`${text}\n`);
  process.exit(1);
}

function python(args: readonly string[]): void {
  const done = spawnSync('python3', args, { stdio: ['ignore', 'inherit', 'inherit'] });
  if (done.status !== 0)
    fail(`"python3 ${args.join(' ')}" failed: ${done.error?.message ?? `exit code ${done.status}`}.`);
}

/** Lists the libraries that the dynamic linker does not find. */
function missingLibraries(file: string): string[] {
  const { stdout } = spawnSync('ldd', [file], { encoding: 'utf8' });
  return [...(stdout ?? '').matchAll(/^\s*(\S+) => not found/gm)].map(([, name = '']) => name);
}

if (process.platform !== 'linux' || process.arch !== 'x64') fail('The CUDA provider is installed on Linux x64 only.');
const [target] = globSync('bin/napi-v*/linux/x64', { cwd: path.dirname(packageFile) });
if (target === undefined) fail(`${path.dirname(packageFile)} has no folder for Linux x64. Run "npm ci" and try again.`);
const folder = path.join(path.dirname(packageFile), target);
const download = mkdtempSync(path.join(tmpdir(), 'platform-cuda-'));
try {
  // The libraries do not depend on the Python version, but the registry has one wheel for each.
  const wheelFor = ['--python-version=3.12', '--implementation=cp', '--abi=cp312', '--platform=manylinux_2_28_x86_64'];
  const pip = ['-m', 'pip', 'download', '--no-deps', '--only-binary=:all:', '--dest', download, ...wheelFor];
  python([...pip, `onnxruntime-gpu==${version}`]);
  const wheel = readdirSync(download).find((name) => name.endsWith('.whl'));
  if (wheel === undefined) fail(`pip left no wheel in ${download}.`);
  python(['-m', 'zipfile', '-e', path.join(download, wheel), download]);
  for (const name of libraries) copyFileSync(path.join(download, 'onnxruntime', 'capi', name), path.join(folder, name));
} finally {
  rmSync(download, { recursive: true, force: true });
}
process.stdout.write(`ONNX Runtime ${version}: the CUDA provider is in ${folder}\n`);
const missing = missingLibraries(path.join(folder, libraries[1] ?? ''));
if (missing.length > 0) {
  process.stdout.write(
    `These libraries are not found: ${missing.join(', ')}. Install the NVIDIA driver, CUDA 13 and cuDNN 9,\n` +
      'or name their folders in LD_LIBRARY_PATH where the runner starts. Without them jobs train on the CPU and say why.\n',
  );
}
