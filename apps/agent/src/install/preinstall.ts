import { createHash, verify } from 'node:crypto';
import { open, readFile, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { programTargetPath } from '@platform/contract/releases/target-path';
import { parseJsonText } from '@platform/contract/text/json-text';
import { isNotText, type Clock, type Log } from '@platform/kit';
import { atomicWrite, readText } from '@platform/kit/node';
import { isObject } from '@platform/contract/text/json-object';
import { readPathState, placeLink } from '../os/path-state.ts';
import type { System } from '../os/ports.ts';
import { fstabEntryOf, isNoExecEntry } from '../os/mounts.ts';
import { elfPlatform } from '../versions/inspect.ts';
import { gateText } from '../versions/gate.ts';
import { gatePath } from '../versions/layout.ts';
import { rememberUnit } from '../versions/unit-renewal.ts';
import { readChanges, writeChanges, type Changes } from './changes.ts';
import { foundCredentials } from './fetch-credentials.ts';
import type { Candidate } from './facts.ts';
import { candidateOf } from './look.ts';
import { placeSelf } from './place-self.ts';
import { agentUnit, unitText } from './unit.ts';
import { pinTrustedRoot } from './verify.ts';

/** Why an image cannot get the agent. Nothing was changed. */
export class ImageRefused extends Error {
  readonly code: string;
  readonly remedy: string;
  constructor(code: string, what: string, remedy: string) {
    super(what);
    this.name = 'ImageRefused';
    this.code = code;
    this.remedy = remedy;
  }
}

/** @throws ImageRefused if the device will mount the agent's folder so that no program below it can be started. */
async function checkFstab(target: string): Promise<void> {
  const entry = fstabEntryOf(await readFile(path.join(target, 'etc/fstab'), 'utf8').catch(() => ''), root);
  if (!entry || !isNoExecEntry(entry.options)) return;
  const options = entry.options.join(',');
  throw new ImageRefused(
    'ROOT_NOEXEC',
    `/etc/fstab of the image mounts ${entry.mountPoint} noexec (options ${options}): no program below ${root} could be started.`,
    `Add exec at the end of the options of ${entry.mountPoint} in /etc/fstab of the image.`,
  );
}

/** Places in the image, as the device sees them. */
const root = '/opt/platform';
const credentialsFile = '/etc/platform.json';
const defaultsFile = '/etc/platform-defaults.json';
const units = '/etc/systemd/system';
const link = '/usr/local/bin/platform-agent';
const bootUnit = 'platform-credentials.service';
const bootScript = `${root}/lib/take-credentials`;
const wanted = (unit: string): string => `${units}/multi-user.target.wants/${unit}`;

/** Runs before the agent at each boot. The boot partition of a Raspberry Pi is FAT, which every computer can write. */
const takeCredentials = `#!/bin/sh
# Moves the credentials of this machine from the boot partition to ${credentialsFile}.
set -eu
umask 077
for file in /boot/firmware/platform.json /boot/platform.json; do
  [ -s "$file" ] || continue
  [ ! -e ${credentialsFile} ] || cp -p ${credentialsFile} ${credentialsFile}.old
  # Some editors begin a file with a byte order mark.
  sed '1s/^\\xef\\xbb\\xbf//' "$file" > ${credentialsFile}.new
  sync ${credentialsFile}.new
  mv ${credentialsFile}.new ${credentialsFile}
  sync
  rm "$file"
  sync
  break
done
`;

const bootUnitText = `[Unit]
Description=Take the credentials of Platform from the boot partition
ConditionPathExists=|/boot/firmware/platform.json
ConditionPathExists=|/boot/platform.json
After=local-fs.target
Before=${agentUnit}

[Service]
Type=oneshot
ExecStart=/bin/sh ${bootScript}

[Install]
WantedBy=multi-user.target
`;

/** The server's files that vouch for the agent, without a network. */
export interface Proof {
  readonly sums: string;
  readonly signature: string;
  readonly trustedRoot: string;
}

export interface PreinstallOf {
  /** The mounted root file system. */
  readonly target: string;
  /** The agent for the device. */
  readonly binary: string;
  /** Undefined: the user takes the agent without a check. */
  readonly proof: Proof | undefined;
  /** The manufacturer's defaults, a file. */
  readonly defaults: string | undefined;
  /** The credentials of this one device, a file. */
  readonly credentials: string | undefined;
}

/**
 * Installs the agent in the root file system of a device that is not running. It checks everything first and starts
 * nothing. It writes below the target only, whatever links the image contains.
 *
 * @returns the installed version.
 * @throws ImageRefused
 */
export async function preinstall(
  of: PreinstallOf,
  { system, clock, log, report }: { system: System; clock: Clock; log: Log; report: (text: string) => void },
): Promise<string> {
  const target = await imageRoot(of.target);
  const platform = await platformOf(target);
  const candidate = await candidateOf(path.resolve(of.binary), platform, system);
  if (candidate.refusal !== undefined)
    throw new ImageRefused(
      'PROGRAM_UNUSABLE',
      `${of.binary} cannot be installed: ${candidate.refusal}.`,
      `Download platform-agent for ${platform}.`,
    );
  await checkFstab(target);
  if (of.proof) await checkProof(of.proof, candidate, platform);
  const defaults = of.defaults === undefined ? undefined : await checkedDefaults(of.defaults);
  const credentials = of.credentials === undefined ? undefined : await checkedCredentials(of.credentials);
  const unit = unitText({ root, credentialsFile });
  const files: ImageFile[] = [
    { file: `${root}/${gatePath}`, text: gateText, mode: 0o755 },
    { file: bootScript, text: takeCredentials, mode: 0o755 },
    { file: `${units}/${agentUnit}`, text: unit, mode: 0o644 },
    { file: `${units}/${bootUnit}`, text: bootUnitText, mode: 0o644 },
    ...(defaults === undefined ? [] : [{ file: defaultsFile, text: defaults, mode: 0o644 }]),
    ...(credentials === undefined ? [] : [{ file: credentialsFile, text: credentials, mode: 0o600 }]),
  ];
  const links = [
    { file: wanted(agentUnit), to: `${units}/${agentUnit}` },
    { file: wanted(bootUnit), to: `${units}/${bootUnit}` },
    { file: link, to: `${root}/bin/platform-agent` },
  ];
  for (const { file } of [...files, ...links]) await checkInside(target, file);

  const inTarget = (file: string): string => path.join(target, file);
  const rootFiles = system.files(inTarget(root));
  await recordChanges(target, [...files, ...links].map(({ file }) => file).filter(isUndoneByUninstall));
  const source = system.files(path.dirname(candidate.file));
  const id = await placeSelf(candidate, { source, files: rootFiles, clock, log });
  report(`store and use version ${id}`);
  if (of.proof) await pinTrustedRoot({ root: inTarget(root), system }, of.proof.trustedRoot);
  for (const { file, text, mode } of files) {
    await atomicWrite(inTarget(file), text, { mode });
    report(`write ${file}`);
  }
  await rememberUnit(rootFiles, unit);
  for (const { file, to } of links) {
    await placeLink(inTarget(file), to);
    report(`link ${file} to ${to}`);
  }
  await system.run('sync');
  return candidate.version;
}

interface ImageFile {
  readonly file: string;
  readonly text: string;
  readonly mode: number;
}

const isUndoneByUninstall = (file: string): boolean =>
  !file.startsWith(`${root}/`) && file !== credentialsFile && file !== defaultsFile;

async function imageRoot(folder: string): Promise<string> {
  const target = await realpath(folder).catch(() => undefined);
  const isRoot = target !== undefined && (await stat(path.join(target, 'etc')).catch(() => undefined))?.isDirectory();
  if (target === undefined || !isRoot)
    throw new ImageRefused(
      'NO_IMAGE',
      `${folder} is not the root file system of a device: it has no folder etc.`,
      'Mount the card, and pass the folder of its root partition, not of its boot partition.',
    );
  if (target === '/')
    throw new ImageRefused('NO_IMAGE', 'This is the running system.', 'Use platform-agent install here.');
  return target;
}

/** The platform of the programs in the image, by the first of these that is there. */
async function platformOf(target: string): Promise<string> {
  for (const name of [
    'usr/bin/dash',
    'usr/bin/bash',
    'bin/dash',
    'bin/bash',
    'usr/lib/systemd/systemd',
    'bin/busybox',
  ]) {
    const file = await realpath(path.join(target, name)).catch(() => undefined);
    if (file === undefined || !isBelow(target, file)) continue;
    await using handle = await open(file, 'r');
    const { buffer } = await handle.read(Buffer.alloc(64), 0, 64, 0);
    const platform = elfPlatform(buffer);
    if (platform === 'linux/amd64' || platform === 'linux/arm64') return platform;
    if (platform !== undefined)
      throw new ImageRefused(
        'PLATFORM_UNSUPPORTED',
        `The programs in ${target} are for ${platform}.`,
        'The agent needs a 64-bit system: x86_64 or aarch64.',
      );
  }
  throw new ImageRefused(
    'NO_IMAGE',
    `${target} holds no shell.`,
    'Choose the root file system of a Linux system with systemd.',
  );
}

const isBelow = (folder: string, file: string): boolean => file.startsWith(`${folder}${path.sep}`);

/** Refuses a path whose folders lead out of the image by a link: it would change this computer. */
async function checkInside(target: string, file: string): Promise<void> {
  for (let at = path.join(target, path.dirname(file)); at !== target; at = path.dirname(at)) {
    const real = await realpath(at).catch(() => undefined);
    if (real === undefined) continue;
    if (real === target || isBelow(target, real)) return;
    throw new ImageRefused(
      'IMAGE_LEADS_OUT',
      `${at} leads to ${real}, out of the image.`,
      'Replace the link in the image with a relative one.',
    );
  }
}

/** @throws ImageRefused unless the signed list names exactly this agent and this root document */
async function checkProof(
  { sums, signature, trustedRoot }: Proof,
  candidate: Candidate,
  platform: string,
): Promise<void> {
  const refuse = (what: string): ImageRefused =>
    new ImageRefused(
      'RELEASE_UNTRUSTED',
      what,
      'Download SHA256SUMS, SHA256SUMS.sig, the root document and the agent again, from one server.',
    );
  const rootBytes = await readFile(trustedRoot);
  const list = await readFile(sums);
  const key = installerKeyOf(rootBytes);
  if (key === undefined) throw refuse(`${trustedRoot} is not a root document.`);
  let isSigned = false;
  try {
    isSigned = verify('sha256', list, key, await readFile(signature));
  } catch {
    // the key or the signature has another format
  }
  if (!isSigned) throw refuse(`${sums} is not signed by the key that ${trustedRoot} names.`);
  const lines = new Set(list.toString('utf8').split('\n'));
  const target = programTargetPath({ name: 'platform-agent', version: candidate.version, platform });
  if (!lines.has(`${candidate.sha256}  ${target}/platform-agent`))
    throw refuse(`The signed list does not name ${candidate.file} (sha256 ${candidate.sha256}).`);
  const rootHash = createHash('sha256').update(rootBytes).digest('hex');
  if (![...lines].some((line) => line.startsWith(`${rootHash}  tuf/`)))
    throw refuse(`The signed list does not name ${trustedRoot}.`);
}

/** The key that signs SHA256SUMS, PEM. */
function installerKeyOf(rootDocument: Uint8Array): string | undefined {
  try {
    const { signed } = JSON.parse(Buffer.from(rootDocument).toString('utf8')) as { signed?: Record<string, unknown> };
    const key = signed?.['x-platform-installer-key'];
    return typeof key === 'string' ? key : undefined;
  } catch {
    return undefined;
  }
}

async function checkedDefaults(file: string): Promise<string> {
  const text = await readGiven(file, 'INVALID_DEFAULTS');
  try {
    if (isObject(parseJsonText(text))) return text;
  } catch {
    // not JSON
  }
  throw new ImageRefused('INVALID_DEFAULTS', `${file} is not a JSON object.`, 'See docs/provisioning.md.');
}

async function readGiven(file: string, code: string): Promise<string> {
  try {
    return await readText(file);
  } catch (error) {
    if (!isNotText(error)) throw error;
    throw new ImageRefused(code, `${file} cannot be used: ${error.message}.`, 'Save it as UTF-8.');
  }
}

async function checkedCredentials(file: string): Promise<string> {
  const text = await readGiven(file, 'NO_CREDENTIALS');
  const found = foundCredentials(text);
  if (found.at === 'usable') return text;
  const problem = found.at === 'unusable' ? found.problem : 'it is empty';
  throw new ImageRefused(
    'NO_CREDENTIALS',
    `${file} cannot be used: ${problem}.`,
    'Download it from the page of the machine.',
  );
}

/** Records what stood there before, so that uninstalling on the device restores it. */
async function recordChanges(target: string, paths: readonly string[]): Promise<void> {
  const inTarget = path.join(target, root);
  const unitFile = `${units}/${agentUnit}`;
  const before: Changes = (await readChanges(inTarget)) ?? { format: 1, credentialsFile, unitFile, paths: [] };
  const added = paths.filter((file) => !before.paths.some((known) => known.path === file));
  const states = await Promise.all(
    added.map(async (file) => ({ path: file, before: await readPathState(path.join(target, file)) })),
  );
  await writeChanges(inTarget, { ...before, paths: [...before.paths, ...states] });
}
