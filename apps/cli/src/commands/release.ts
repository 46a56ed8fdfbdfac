import type { PlatformClient } from '@platform/client';
import { PlatformError } from '@platform/contract/errors/errors';
import type { Release } from '@platform/contract/gen/platform/release/v1/release_pb';
import { systemClock } from '@platform/kit/node';
import { targetsOf } from '@platform/releases/documents';
import { nextTargets } from '@platform/releases/publication';
import { isAttachment, isProgram } from '@platform/releases/targets';
import type { Command } from 'commander';
import { formatBytes } from '@platform/kit';
import { choiceArgument, choiceOption, choicesOption } from '../choices.ts';
import { confirmed } from '../confirm.ts';
import { ago } from '../output.ts';
import { buildPrograms } from '../releases/builds.ts';
import { openKeys } from '../releases/keys.ts';
import { type Attachment, readAttachments } from '../releases/attachments.ts';
import { releaseJson } from '../releases/release-json.ts';
import { uploadPatches } from '../releases/patches.ts';
import { type ProgramFile, readProgram } from '../releases/program-file.ts';
import { currentOf, renewDocuments, type SignedAttachment, submitSigned, type SignedPatch } from '../releases/sign.ts';
import type { Run } from '../run.ts';
import { wholeNumber } from '../values.ts';
import { patchesCommand } from './release-patches.ts';
import { showCommand } from './release-show.ts';
import { releaseKeyCommands } from './release-keys.ts';

const stateOf = (one: Release): string => (one.revokedOn ? 'revoked' : one.target === '' ? 'NOT SIGNED' : 'signed');

const programs = { 'platform-agent': 'platform-agent', 'platform-server': 'platform-server' } as const;
const channelNames = { stable: 'stable', dev: 'dev' } as const;
type ChannelName = keyof typeof channelNames;

/** Other files of a build beside the program, so that `dist/platform-agent-1.0.0-*` selects only programs. */
const besideProgram = /\.(json|sha256|stamp|licenses\.txt)$/;

/** More than half of the keys. */
const majority = (keys: number): number => Math.floor(keys / 2) + 1;

const keysOption = [
  '--keys <folder...>',
  'folders of the release keys (PLATFORM_RELEASE_KEYS); default: those of the platform that npm start runs here',
] as const;

export function releaseCommands(program: Command, run: Run): void {
  const release = program
    .command('release')
    .description('publish, promote and sign versions of agent and machine server');

  listCommand(release, run);
  showCommand(release, run);
  publishCommand(release, run);
  patchesCommand(release, run, keysOption);
  promoteCommand(release, run);
  revokeCommand(release, run);
  signCommand(release, run);
  releaseKeyCommands(release, run);
}

function listCommand(release: Command, run: Run): void {
  release
    .command('list')
    .description('list published versions')
    .addOption(choiceOption('--name <program>', 'only this program', programs))
    .action(
      run(async ({ connection, output }, flags: { name?: string }) => {
        const { client } = await connection();
        const releases = await client.releaseClient.listReleases(flags.name ?? '');
        output.json(releases.map(releaseJson));
        if (releases.length === 0) return output.text('Nothing is published yet: platform release publish --help');
        output.table(
          ['name', 'version', 'platform', 'channels', 'state', 'size', 'published'],
          releases.map((one) => [
            one.name,
            one.version,
            one.platform,
            one.channels.join(', '),
            stateOf(one),
            formatBytes(Number(one.sizeBytes)),
            ago(one.publishedOn, systemClock.wall()),
          ]),
        );
      }),
    );
}

function publishCommand(release: Command, run: Run): void {
  release
    .command('publish [file...]')
    .description(
      'sign and publish programs for the machines that follow a channel. Without files, builds agent and machine server of this checkout for every platform',
    )
    .option('--release-version <version>', 'version of the built programs; default: the version in package.json')
    .addOption(choicesOption('--channel <channel...>', 'channels to point at this version (repeatable)', channelNames))
    .option(...keysOption)
    .option(
      '--threshold <n>',
      'number of root keys that must sign, for the first publication; default: more than half of them',
    )
    .option('--no-patches', 'do not create patches from earlier versions')
    .action(
      run(async ({ connection, output }, files: string[], flags: PublishFlags) => {
        const channels = flags.channel ?? [];
        const given =
          flags.threshold === undefined ? undefined : wholeNumber('--threshold', flags.threshold, { min: 1, max: 50 });
        const { client } = await connection();
        const ring = await openKeys(flags);
        if (files.length === 0) output.note('Building agent and machine server for every platform.');
        const programFiles = files.length > 0 ? files : await buildPrograms(flags.releaseVersion);
        const signed = [];
        const patches: SignedPatch[] = [];
        const attachments: SignedAttachment[] = [];
        for (const file of programFiles.filter((name) => !besideProgram.test(name))) {
          const one = await readProgram(file);
          await checkIsNew(client, one);
          const described = await readAttachments(one);
          output.note(`Uploading ${one.name} ${one.version} for ${one.platform}, ${formatBytes(one.bytes.length)}.`);
          await client.releaseClient.putBlob(one.bytes);
          attachments.push(...(await uploadAttachments(client, described)));
          if (flags.patches) patches.push(...(await uploadPatches(client, one, output.note)));
          const { name, version, platform, sha256 } = one;
          signed.push({
            name,
            version,
            platform,
            sha256,
            sizeBytes: one.bytes.length,
            channels,
          });
        }
        const threshold = given ?? majority(ring.root.length);
        const now = systemClock.wall();
        const published = await submitSigned(
          client,
          ring,
          { programs: signed, patches, attachments },
          { threshold, now },
        );
        output.json({ releases: published.map(releaseJson), patches: patches.length });
        for (const one of published) {
          const where = one.channels.length > 0 ? `, channel ${one.channels.join(' and ')}` : '';
          output.text(`Published ${one.name} ${one.version} for ${one.platform}${where}.`);
        }
      }),
    );
}

async function uploadAttachments(client: PlatformClient, found: readonly Attachment[]): Promise<SignedAttachment[]> {
  const uploaded: SignedAttachment[] = [];
  for (const { bytes, ...one } of found) {
    await client.releaseClient.putBlob(bytes);
    uploaded.push({ ...one, sizeBytes: bytes.length });
  }
  return uploaded;
}

function promoteCommand(release: Command, run: Run): void {
  release
    .command('promote')
    .addArgument(choiceArgument('<name>', 'the program', programs))
    .argument('<version>', 'published version, such as 1.4.0')
    .addArgument(choiceArgument('<channel>', 'that points there', channelNames))
    .description('point a channel at a published version')
    .action(
      run(async ({ connection, output }, name: string, version: string, channel: ChannelName) => {
        const { client } = await connection();
        await client.releaseClient.setChannel(name, channel, version);
        output.json({ name, version, channel });
        output.text(`Channel ${channel} of ${name} is ${version} now.`);
      }),
    );
}

function revokeCommand(release: Command, run: Run): void {
  release
    .command('revoke')
    .addArgument(choiceArgument('<name>', 'the program', programs))
    .argument('<version>', 'published version, such as 1.4.0')
    .description(
      'withdraw a version: it is no longer offered to machines, and the signed list of files no longer names it',
    )
    .option('--yes', 'do not ask for confirmation')
    .option(...keysOption)
    .action(
      run(async ({ connection, output }, name: string, version: string, flags: KeyFlags & { yes?: boolean }) => {
        const { client } = await connection();
        const releases = await client.releaseClient.listReleases(name);
        const builds = releases.filter((one) => one.version === version);
        if (builds.length === 0) throw new PlatformError('RELEASE_NOT_FOUND', { name, version });
        const channel = builds.flatMap((one) => one.channels)[0];
        if (channel !== undefined) throw new PlatformError('RELEASE_IN_USE', { name, version, channel });
        if (!(await confirmed(`Withdraw ${name} ${version} for good?`, flags)))
          return output.text('Nothing was changed.');
        const ring = await openKeys(flags);
        const current = await currentOf(client);
        const gone = new Set(builds.map((one) => Buffer.from(one.sha256).toString('hex')));
        const listed = targetsOf(current.targets).some(({ sha256 }) => gone.has(sha256));
        if (listed) {
          await client.releaseClient.submitMetadata(
            nextTargets(current, ring, systemClock.wall(), {
              isRemoved: ({ custom }) => {
                if (isProgram(custom)) return custom.name === name && custom.version === version;
                if (isAttachment(custom)) return custom.program === name && custom.version === version;
                return gone.has(custom.to_sha256) || gone.has(custom.from_sha256);
              },
            }),
          );
        }
        await client.releaseClient.revoke(name, version);
        output.json({ name, version, revoked: true });
        output.text(`Withdrew ${name} ${version}. Machines that run it keep it until another version is wanted there.`);
      }),
    );
}

function signCommand(release: Command, run: Run): void {
  release
    .command('sign')
    .description('renew the signature of the list of files before it expires; once a month is enough')
    .option(...keysOption)
    .action(
      run(async ({ connection, output }, flags: KeyFlags) => {
        const { client } = await connection();
        const far = { rootDays: 30, targetsDays: 10_000 };
        const signed = await renewDocuments(client, await openKeys(flags), systemClock.wall(), far);
        output.json({ signed });
        output.text(signed.length > 0 ? `Signed anew: ${signed.join(' and ')}.` : 'Nothing was published yet.');
      }),
    );
}

/** Fails before the upload if the version exists with another hash. @throws PlatformError RELEASE_EXISTS */
async function checkIsNew(client: PlatformClient, { name, version, platform, sha256 }: ProgramFile): Promise<void> {
  const known = await client.releaseClient.listReleases(name);
  const same = known.find((one) => one.version === version && one.platform === platform);
  if (same && Buffer.from(same.sha256).toString('hex') !== sha256)
    throw new PlatformError('RELEASE_EXISTS', { name, version, platform });
}

interface KeyFlags {
  readonly keys?: string[];
}
interface PublishFlags extends KeyFlags {
  readonly channel?: ChannelName[];
  readonly threshold?: string;
  readonly releaseVersion?: string;
  readonly patches: boolean;
}
