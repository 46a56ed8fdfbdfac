import { readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { spoolFolder } from '../logs/spool-segments.ts';
import { sampleFolder } from '../samples/sample-spool.ts';
import { pinsFile, programNames, statePath } from '../versions/layout.ts';

/** Files of `state/` that describe the programs and what installing changed. Everything else there is of one machine. */
const keptState: readonly string[] = [
  pinsFile,
  'state/tuf',
  'state/changes.json',
  'state/environment',
  'state/unit.before',
  'state/unit.place',
  'state/unit.bak',
  'state/unit.written',
  'state/managed-files.json',
  'state/installed-packages.json',
  'state/journald.json',
  'state/wifi-country.json',
  'state/manages-networks',
  'state/handed-over-networks.json',
  // A time that has passed: a device without a clock begins from it.
  'state/proven-time.json',
  ...programNames.map((program) => statePath(program, 'previous')),
];
/** Held while the command runs. */
const lockFile = 'state/agent.lock';

interface ImageOf {
  /** Folder of the agent, for example /opt/platform, or that of a mounted card. */
  readonly root: string;
  readonly credentialsFile: string;
  readonly keepCredentials: boolean;
  readonly keepServerData: boolean;
  /** Remove the network profiles of the agent. */
  readonly networks: boolean;
  /** Their files. */
  readonly profiles: readonly string[];
}

interface ImageStep {
  /** A clause for users. */
  readonly what: string;
  readonly paths: readonly string[];
}

export interface ImagePlan {
  readonly remove: readonly ImageStep[];
  readonly keep: readonly string[];
  /** What the image still needs, and that is not the agent's. */
  readonly advice: readonly string[];
}

/** What keeps a root from becoming an image; undefined: nothing does. */
export async function imageProblem({ root }: Pick<ImageOf, 'root'>): Promise<string | undefined> {
  for (const program of programNames)
    if (await isThere(path.join(root, statePath(program, 'trial'))))
      return `platform-${program} is on trial: it has not passed its health check yet`;
  return undefined;
}

/** What a used root loses and keeps as an image. Changes nothing. */
export async function planImage(of: ImageOf): Promise<ImagePlan> {
  const { root, credentialsFile, keepCredentials, keepServerData, profiles } = of;
  const secrets = [path.join(root, 'state/set-up-code.json')];
  const credentials = [credentialsFile, `${credentialsFile}.old`, path.join(root, 'state/credentials.last-good')];
  const lines = await inFolder(root, spoolFolder);
  const state = (await inFolder(root, 'state')).filter((file) => !isKept(root, file) && !credentials.includes(file));
  const serverData = (await inFolder(root, 'server')).filter((file) => path.basename(file) !== 'packages');
  const steps: ImageStep[] = [
    { what: 'the credentials', paths: keepCredentials ? [] : [...credentials, ...secrets] },
    { what: 'the network profiles of the agent', paths: of.networks ? profiles : [] },
    { what: 'the log lines that wait for their upload', paths: lines },
    { what: 'the samples that wait for their upload', paths: await inFolder(root, sampleFolder) },
    { what: 'the logs', paths: await inFolder(root, 'log') },
    { what: 'the downloads', paths: await inFolder(root, 'cache') },
    {
      what: 'the configuration, the quarantine and the records of this machine',
      paths: state.filter((file) => !secrets.includes(file)),
    },
    {
      what: 'the data of the machine server, with captures that wait for their upload',
      paths: keepServerData ? [] : serverData,
    },
  ];
  const remove: ImageStep[] = [];
  for (const { what, paths } of steps) {
    const found: string[] = [];
    for (const one of paths) if (await isThere(one)) found.push(one);
    if (found.length > 0) remove.push({ what, paths: found });
  }
  return { remove, keep: keptOf(of), advice: adviceOf(of) };
}

/** Does what the plan says. A repeated call goes on where one was interrupted; the credentials go first. */
export async function prepareImage({ remove }: ImagePlan): Promise<void> {
  for (const { paths } of remove) for (const one of paths) await rm(one, { recursive: true, force: true });
}

const keptOf = ({ keepCredentials, keepServerData, credentialsFile }: ImageOf): string[] => [
  'both programs with their versions, pins and release keys',
  'what uninstalling restores',
  ...(keepCredentials
    ? [`the credentials in ${credentialsFile}: devices made from this image share one identity`]
    : []),
  keepServerData ? 'the data of the machine server' : 'the packages of the machine server',
];

function adviceOf({ networks, profiles }: ImageOf): string[] {
  const names = profiles.map((file) => path.basename(file, '.nmconnection'));
  return [
    ...(names.length > 0 && !networks
      ? [`The networks ${names.join(', ')} stay with their passwords. --networks removes them.`]
      : []),
    'The operating system has an identity, too: empty /etc/machine-id, and remove /etc/ssh/ssh_host_*_key* if the system makes new ones at its first boot.',
    'Give each device its host name and its credentials: platform.json on the boot partition, a set-up code, or the hotspot.',
  ];
}

/** The last-good copies of `storage/checked-file.ts` stay and go with their files. */
const isKept = (root: string, file: string): boolean => {
  const name = path
    .relative(root, file)
    .replaceAll(path.sep, '/')
    .replace(/\.last-good$/, '');
  return keptState.includes(name) || name === lockFile;
};

async function inFolder(root: string, folder: string): Promise<string[]> {
  const names = await readdir(path.join(root, folder)).catch(() => []);
  return names.toSorted().map((name) => path.join(root, folder, name));
}

const isThere = (file: string): Promise<boolean> =>
  stat(file).then(
    () => true,
    () => false,
  );
