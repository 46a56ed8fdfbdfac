import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { PlatformError } from '@platform/contract/errors/errors';
import { atomicWrite, readPem, systemClock } from '@platform/kit/node';
import { readRoot, readTargets, rolesOf, type Roles } from '@platform/releases/documents';
import { makeKeyFile, makeKeyFolder } from '@platform/releases/key-folder';
import { keyId, readPublicKey } from '@platform/releases/keys';
import { type Current, draftRoot, signRootMore } from '@platform/releases/publication';
import type { Command } from 'commander';
import { keyFolders, openKeys, passphraseOf } from '../releases/keys.ts';
import { currentOf, submitRoot } from '../releases/sign.ts';
import type { Run } from '../run.ts';

const keysOption = ['--keys <folder...>', 'folders of the release keys (PLATFORM_RELEASE_KEYS)'] as const;

interface KeyFlags {
  readonly keys?: string[];
}
interface RotateFlags extends KeyFlags {
  readonly add?: string[];
  readonly remove?: string[];
  readonly threshold?: string;
  readonly targets?: string;
  readonly installer?: string;
  readonly out?: string;
}

/** Commands for keys and root documents, which determine who may sign what. */
export function releaseKeyCommands(release: Command, run: Run): void {
  const keys = release.command('keys').description('private keys that sign releases');

  initCommand(keys, run);
  makeCommand(keys, run);
  listCommand(keys, run);
  rotateRootCommand(release, run);
  signRootCommand(release, run);
  submitRootCommand(release, run);
}

function initCommand(keys: Command, run: Run): void {
  keys
    .command('init [folder]')
    .description('create the keys: several for the root, one for the list of files, one for the installer')
    .option('--root-keys <n>', 'number of root keys', '3')
    .action(
      run(async ({ output }, folder: string | undefined, flags: { rootKeys: string }) => {
        const at = path.resolve(folder ?? keyFolders({})[0] ?? '.');
        const made = await makeKeyFolder(at, wholeNumber('--root-keys', flags.rootKeys), passphraseOf());
        output.json({ folder: at, made });
        if (made.length === 0) return output.text(`All keys are in ${at} already; nothing was changed.`);
        output.text(`Made ${made.join(', ')} in ${at}, readable by you alone.`);
        if (passphraseOf() === undefined)
          output.text('They are not locked: set PLATFORM_RELEASE_PASSPHRASE to lock new ones.');
        output.text(
          'Keep the root keys apart from each other and offline; whoever has enough of them rules every machine.',
        );
      }),
    );
}

function makeCommand(keys: Command, run: Run): void {
  keys
    .command('make <file>')
    .description('create one more key: root-<name>.pem, targets.pem or installer.pem')
    .action(
      run(async ({ output }, file: string) => {
        const isMade = await makeKeyFile(path.resolve(file), passphraseOf());
        output.json({ file, made: isMade });
        output.text(isMade ? `Made ${file}.` : `${file} is there already; nothing was changed.`);
      }),
    );
}

function listCommand(keys: Command, run: Run): void {
  keys
    .command('list')
    .description('list the release keys: which are on this host, and which the root document trusts')
    .option(...keysOption)
    .action(
      run(async ({ connection, output }, flags: KeyFlags) => {
        const ring = await openKeys(flags);
        const { client } = await connection();
        const current = await currentOf(client);
        const roles = current.root.length > 0 ? rolesOf(current.root) : undefined;
        const here = new Set([...ring.root, ...ring.targets].map((key) => key.id));
        const named = (role: 'root' | 'targets') => roles?.[role].keys.map(keyId) ?? [];
        const all = (['root', 'targets'] as const).flatMap((role) => {
          const ids = new Set([...named(role), ...ring[role].map((key) => key.id)]);
          return [...ids].map((id) => ({ role, id, here: here.has(id), trusted: named(role).includes(id) }));
        });
        const documents = roles && documentsOf(current);
        output.json({ keys: all, root_threshold: roles?.root.threshold, documents });
        output.table(
          ['role', 'id', 'key is here', 'machines trust it'],
          all.map((one) => [one.role, one.id.slice(0, 16), one.here ? 'yes' : 'no', one.trusted ? 'yes' : 'no']),
        );
        if (!roles || !documents) return output.text('\nNothing was signed for this server yet.');
        const { root, targets } = documents;
        output.text(`
Root document ${root.version}, valid until ${root.expires}: ${roles.root.threshold} of ${roles.root.keys.length} root keys must sign the next one.
List of files ${targets.version}, valid until ${targets.expires}.`);
      }),
    );
}

function rotateRootCommand(release: Command, run: Run): void {
  release
    .command('rotate-root')
    .description(
      'create the next root document with other keys, another threshold or a later expiry date; old and new keys must sign it',
    )
    .option('--add <file...>', 'root keys to add (private or public PEM)')
    .option('--remove <id...>', 'root keys to remove, by the first characters of their ID')
    .option('--threshold <n>', 'number of root keys that must sign from then on')
    .option('--targets <file>', 'key that signs the list of files from then on')
    .option('--installer <file>', 'key that signs SHA256SUMS from then on')
    .option('--out <file>', 'write the document to this file, for others to sign, instead of submitting it')
    .option(...keysOption)
    .action(
      run(async ({ connection, output }, flags: RotateFlags) => {
        const { client } = await connection();
        const current = await currentOf(client);
        if (current.root.length === 0) throw new PlatformError('RELEASE_NOT_FOUND', { name: 'root document' });
        const change = await changeOf(flags);
        const ring = await openKeys(flags);
        const roles = { ...change(rolesOf(current.root)), online: [current.onlineKey] };
        const root = draftRoot(current.root, roles, ring, systemClock.wall());
        if (flags.out !== undefined) {
          await atomicWrite(path.resolve(flags.out), root);
          output.json({ file: flags.out, version: rootVersion(root) });
          return output.text(
            `Wrote ${flags.out}. Let the others sign it: platform release sign-root ${flags.out}; then platform release submit-root ${flags.out}`,
          );
        }
        await submitRoot(client, ring, root, systemClock.wall());
        output.json({ version: rootVersion(root) });
        output.text(`Root document ${rootVersion(root)} is in force. Machines follow it at their next update.`);
      }),
    );
}

function signRootCommand(release: Command, run: Run): void {
  release
    .command('sign-root <file>')
    .description('sign a root document with the root keys on this host')
    .option(...keysOption)
    .action(
      run(async ({ output }, file: string, flags: KeyFlags) => {
        const at = path.resolve(file);
        const ring = await openKeys(flags);
        const signed = signRootMore(await readDocument(at), ring.root);
        await atomicWrite(at, signed.bytes);
        output.json({ file, signatures: signed.signatures });
        output.text(`${file} has ${signed.signatures} signatures now.`);
      }),
    );
}

function submitRootCommand(release: Command, run: Run): void {
  release
    .command('submit-root <file>')
    .description('submit a root document that enough root keys have signed')
    .option(...keysOption)
    .action(
      run(async ({ connection, output }, file: string, flags: KeyFlags) => {
        const { client } = await connection();
        const root = await readDocument(path.resolve(file));
        await submitRoot(client, await openKeys(flags), root, systemClock.wall());
        output.json({ version: rootVersion(root) });
        output.text(`Root document ${rootVersion(root)} is in force. Machines follow it at their next update.`);
      }),
    );
}

function documentsOf({ root, targets }: Pick<Current, 'root' | 'targets'>) {
  const words = ({ version, expires }: { version: number; expires: string }) => ({ version, expires });
  return { root: words(readRoot(root).signed), targets: words(readTargets(targets).signed) };
}

async function readDocument(file: string): Promise<Buffer> {
  const bytes = await readFile(file);
  try {
    readRoot(bytes);
  } catch (error) {
    const limit = 'a root document as `platform release rotate-root --out` writes it';
    throw new PlatformError('INVALID_ARGUMENT', { field: 'file', value: file, limit }, error);
  }
  return bytes;
}

const rootVersion = (root: Uint8Array): number => readRoot(root).signed.version;

async function changeOf(flags: RotateFlags): Promise<(roles: Roles) => Roles> {
  const key = async (file: string) => readPublicKey(await readPem(path.resolve(file)), file, passphraseOf());
  const added = await Promise.all((flags.add ?? []).map(key));
  const targets = flags.targets === undefined ? undefined : await key(flags.targets);
  const installer = flags.installer === undefined ? undefined : await key(flags.installer);
  return (roles) => {
    const isRemoved = (id: string): boolean => (flags.remove ?? []).some((start) => id.startsWith(start));
    for (const start of flags.remove ?? []) {
      if (start.length >= 8 && roles.root.keys.some((one) => keyId(one).startsWith(start))) continue;
      const limit = 'the first 8 or more digits of a root key: platform release keys list';
      throw new PlatformError('INVALID_ARGUMENT', { field: '--remove', value: start, limit });
    }
    const kept = roles.root.keys.filter((one) => !isRemoved(keyId(one)));
    const fresh = added.map((one) => one.publicKey).filter((one) => !kept.some((k) => keyId(k) === keyId(one)));
    const threshold =
      flags.threshold === undefined ? roles.root.threshold : wholeNumber('--threshold', flags.threshold);
    return {
      root: { keys: [...kept, ...fresh], threshold },
      targets: targets ? { keys: [targets.publicKey], threshold: 1 } : roles.targets,
      online: roles.online,
      installerKey: installer?.publicPem ?? roles.installerKey,
    };
  };
}

function wholeNumber(field: string, text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > 50)
    throw new PlatformError('INVALID_ARGUMENT', { field, value: text, limit: 'a whole number from 1 to 50' });
  return value;
}
