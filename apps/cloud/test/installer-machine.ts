// Runs install.sh as a machine does: as root, with curl, over TLS to a host name. The machine is this host in separate
// namespaces: systemd seems to run, and the name resolves to a test server. The installed agent is a stand-in that
// fetches its credentials.
import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { ReleaseService } from '@platform/contract/gen/platform/release/v1/release_pb';
import { tempFolder, type TempFolder } from '@platform/kit/testing';
import { makeKeyFolder, readKeyFolders } from '@platform/releases/key-folder';
import type { PublicKey } from '@platform/releases/keys';
import { firstRoot, nextTargets, programTarget } from '@platform/releases/publication';
import type { TestServer } from './server.ts';

const call = promisify(execFile);
/** A name that only curl resolves. */
export const machineHost = 'platform.example';

/** Does the first steps of "platform-agent install" and prints them. */
export const agentProgram = (version: string): string => `#!/bin/sh
# ${version}
for each; do [ "$before" != --authority ] || authority="--cacert $each"; before=$each; done
curl -fsS $authority -H "key_id: $PLATFORM_API_KEY_ID" -H "key: $PLATFORM_API_KEY" -H "x-installer: \${PLATFORM_INSTALLER:-}" -o "$5.part" \\
  "$PLATFORM_URL/api/json1/config?client=true&id=$PLATFORM_PART_ID" || exit 1
mkdir -p "$7/bin" && mv "$5.part" "$5" || exit 1
[ "$0" = "$7/bin/platform-agent" ] || cp "$0" "$7/bin/platform-agent" || exit 1
echo "installed ${version}"
exit 0
${'#'.repeat(2_000_000)}
`;

/** Creates a certificate with its own authority. Dates in openssl's format, 20260101000000Z. */
export async function makeCertificate(folder: TempFolder, name: string, from: string, until: string): Promise<void> {
  const at = (file: string): string => folder.file(`${name}.${file}`);
  await mkdir(at('ca'));
  for (const [file, content] of [
    ['index', ''],
    ['serial', '01\n'],
    [
      'cnf',
      `[ca]\ndefault_ca=d\n[d]\nnew_certs_dir=${at('ca')}\ndatabase=${at('index')}\nserial=${at('serial')}\ndefault_md=sha256\npolicy=p\n[p]\ncommonName=supplied\n[leaf]\nsubjectAltName=DNS:${machineHost}\n`,
    ],
  ] as const)
    await writeFile(at(file), content);
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  await call('openssl', [
    'req',
    '-x509',
    ...key,
    '-keyout',
    at('authority-key'),
    '-out',
    at('authority'),
    '-days',
    '36500',
    '-subj',
    '/CN=Authority of a test',
  ]);
  await call('openssl', ['req', ...key, '-keyout', at('key'), '-out', at('request'), '-subj', `/CN=${machineHost}`]);
  await call('openssl', [
    'ca',
    '-batch',
    '-notext',
    '-config',
    at('cnf'),
    '-extensions',
    'leaf',
    '-cert',
    at('authority'),
    '-keyfile',
    at('authority-key'),
    '-startdate',
    from,
    '-enddate',
    until,
    '-in',
    at('request'),
    '-out',
    at('cert'),
  ]);
}

/** Publishes the signed stand-in as the stable agent. */
export async function publishAgent(on: TestServer, version: string): Promise<string> {
  await using folder = await tempFolder();
  await makeKeyFolder(folder.path, 1);
  const keys = await readKeyFolders([folder.path]);
  const bytes = Buffer.from(agentProgram(version));
  const hash = createHash('sha256').update(bytes).digest();
  const releases = await on.client(ReleaseService);
  await writeFile(folder.file('agent'), bytes);
  const token = await on.token(on.owner);
  const blob = `${on.server.localUrl}/blobs/${hash.toString('hex')}`;
  await call('curl', ['-fsS', '-T', folder.file('agent'), '-H', `authorization: Bearer ${token}`, blob]);
  const words = { name: 'platform-agent', version, platform: 'linux/amd64' };
  const { onlineKey } = await releases.getMetadata({});
  const root = firstRoot(keys, 1, JSON.parse(onlineKey) as PublicKey, Date.now());
  const target = programTarget(words, { sizeBytes: bytes.length, sha256: hash.toString('hex') });
  const signed = nextTargets({ root, targets: new Uint8Array() }, keys, Date.now(), { add: [target] });
  await releases.submitMetadata({
    root,
    ...signed,
    releases: [{ ...words, sha256: hash, sizeBytes: BigInt(bytes.length), channels: ['stable'] }],
  });
  return hash.toString('hex');
}

export type Ended = { code: number | null; stdout: string; stderr: string };

export type Machine = AsyncDisposable & {
  /** Path of a file in its /etc or /opt. */
  file(name: `/${'etc' | 'opt'}/${string}`): string;
  /** Removes every trace of an installation. */
  clear(): Promise<void>;
  /** @param until - resolves when the power fails. */
  run(
    command: string,
    options?: { hidden?: readonly string[]; curl?: readonly string[]; until?: Promise<void> },
  ): Promise<Ended>;
};

/** @param authority - a certificate that its system trusts besides the usual ones; empty: none. */
export async function machineAt(port: number, authority: string): Promise<Machine> {
  const folder = await tempFolder();
  await call('cp', ['-a', '/etc', folder.file('etc')]);
  await mkdir(folder.file('opt'));
  await mkdir(folder.file('programs'));
  // Pauses of the script must not delay the test.
  for (const name of ['systemctl', 'sleep'])
    await writeFile(folder.file('programs', name), '#!/bin/sh\n', { mode: 0o755 });
  const setUp = `mount -t tmpfs t /run && mkdir -p /run/systemd/system && mount --bind ${folder.file('etc')} /etc &&
    mount --bind ${folder.file('opt')} /opt && for one in $HIDDEN; do mount --bind /dev/null "$one" || exit 99; done; exec /bin/sh -c "$COMMAND"`;
  const namespace = process.getuid?.() === 0 ? ['-m'] : ['-Urm'];
  return {
    file: (name) => folder.file(name.slice(1)),
    async clear() {
      await rm(folder.file('opt', 'platform'), { recursive: true, force: true });
      await rm(folder.file('etc', 'platform.json'), { force: true });
    },
    async run(command, { hidden = [], curl = [], until } = {}) {
      const settings = [
        `resolve = "${machineHost}:${port}:127.0.0.1"`,
        ...(authority ? [`cacert = "${authority}"`] : []),
        ...curl,
      ];
      await writeFile(folder.file('.curlrc'), settings.join('\n'));
      const child = spawn('unshare', [...namespace, '/bin/sh', '-c', setUp], {
        detached: true,
        stdio: ['ignore', 'pipe', 'pipe'],
        env: {
          PATH: `${folder.file('programs')}:/usr/bin:/bin:/usr/sbin:/sbin`,
          CURL_HOME: folder.path,
          HIDDEN: hidden.join(' '),
          COMMAND: command,
        },
      });
      void until?.then(() => process.kill(-(child.pid ?? 0), 'SIGKILL'));
      const [stdout, stderr, code] = await Promise.all([
        text(child.stdout),
        text(child.stderr),
        new Promise<number | null>((resolve) => child.once('exit', resolve)),
      ]);
      return { code, stdout, stderr };
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}
