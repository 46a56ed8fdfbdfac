// The pages on operation, command by command, on a bare Debian with systemd: in the order of their index, on one machine,
// or on a fresh one where the page says so (<!-- machine: fresh -->).
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { type LabArchive, signCommand, signedArchive } from '../lab/container.ts';
import { type Container, container } from '../lab/machine.ts';
import { keep, timed } from '../lab/results.ts';
import { blocksOf } from '../src/page-blocks.ts';
import { packagesOf, runPage } from '../src/page-run.ts';
import { checkout } from '../src/up-process.ts';

const folder = path.join(checkout, 'docs', 'operations');
const readPage = (name: string): Promise<string> => readFile(path.join(folder, name), 'utf8');
/** Names by which the pages call the server. */
const names = ['platform.example.com', 'server.example'];

/** A machine with the archive of the server in the user's folder, and without a network. */
async function freshMachine({ files, key }: LabArchive): Promise<Container> {
  const machine = await container(9);
  await machine.install('sudo', 'curl', 'openssl', 'ca-certificates');
  await machine.must(`echo '127.0.0.1 ${names.join(' ')}' >> /etc/hosts`);
  await machine.push('/root', ...files);
  // Signs the next version; the user of the pages has the public key only.
  await machine.push('/var/tmp', key);
  return machine;
}

const nextArchive = 'platform-management-0.2.0-linux-x64.tar.gz';

/** What the user has in the home folder for a page. */
const provided: Readonly<Record<string, { before: string; after: string }>> = {
  'upgrade.md': {
    before:
      'cd /root && mkdir next && tar -xf platform-management-*.tar.gz -C next && cd next && mv * next-version && cd next-version && ' +
      `sed -i '0,/"version": "[^"]*"/s//"version": "0.2.0"/' release.json package.json && cd .. && ` +
      `tar -czf ../${nextArchive} next-version && cd .. && rm -rf next && ${signCommand(nextArchive, '/var/tmp/sign.pem')}`,
    // The pages after it name the archive by a pattern.
    after: `rm -f /root/${nextArchive}*`,
  },
};

test('the commands of the pages on operation', { timeout: 3_600_000 }, async (t) => {
  const archive = await signedArchive();
  const index = await readPage('README.md');
  const listed = [...index.matchAll(/^\| \[[^\]]+\]\(([\w-]+\.md)\)/gm)].map(([, name = '']) => name);
  const only = process.env['PLATFORM_LAB_PAGES']?.split(',');
  const pages = listed.filter((name) => only?.includes(name) ?? true);
  assert.ok(pages.length > 0, 'the index names no page');
  let machine: Container | undefined;
  try {
    for (const name of pages) {
      const markdown = await readPage(name);
      const blocks = blocksOf(name, markdown);
      const runs = blocks.filter(({ use }) => use.kind === 'run').length;
      if (runs === 0) continue;
      await t.test(`${name}: ${runs} blocks`, async () => {
        if (machine && markdown.includes('<!-- machine: fresh -->')) {
          await machine[Symbol.asyncDispose]();
          machine = undefined;
        }
        machine ??= await freshMachine(archive);
        await machine.install(...packagesOf(blocks));
        const at: Container = machine;
        const has = provided[name];
        if (has) await at.must(has.before, 600);
        const { seconds } = await timed(() => runPage(at, blocks));
        if (has) await at.must(has.after);
        await keep(`the commands of ${name}`, 'operations', seconds, `${runs} blocks`);
      });
    }
  } finally {
    await machine?.[Symbol.asyncDispose]();
  }
});
