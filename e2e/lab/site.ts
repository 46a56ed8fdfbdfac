// The management server on this host as its owner uses it, for machines of the lab.
import { writeFile } from 'node:fs/promises';
import { createClient, type Client, type Transport } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-web';
import { AppService, LogOrder } from '@platform/contract/gen/platform/app/v1/app_pb';
import { FleetService, type Machine } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { setUpText } from '@platform/contract/provisioning/set-up-code';
import { AuthService } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import { tempFolder, type TempFolder } from '@platform/kit/testing';
import { startCloudAt } from '../src/cloud-process.ts';
import { checkout, dataFolder, runCli } from '../src/up-process.ts';
import { type LabCertificate, labCertificate, type Validity } from './authority.ts';
import type { Build } from './builds.ts';
import { eventually, serverName } from './machine.ts';

export interface NewMachine {
  partId: string;
  credentialsJson: string;
}

export interface Site extends AsyncDisposable {
  /** The port of the server on this host. */
  readonly port: number;
  /** The server's URL on this host, on loopback and without TLS. */
  readonly localUrl: string;
  /** The server's URL on the lab's machines. */
  readonly url: string;
  /** Prints the install script on a machine that does not trust the lab's authority. */
  readonly scriptCommand: string;
  readonly fleet: Client<typeof FleetService>;
  /** The authority of its certificate, as PEM; empty: it has none. */
  readonly authority: string;
  /** Signs and publishes a build, and points the channels to it. */
  publish(build: Build, ...channels: ('stable' | 'dev')[]): Promise<void>;
  createMachine(name: string): Promise<NewMachine>;
  /** A text that users enter on a device in place of credentials; it names the authority of this server. */
  setUpText(partId: string): Promise<string>;
  /** Saves the `agent` object of a machine, and the other keys of its configuration. */
  configure(partId: string, agent: object, beside?: object): Promise<void>;
  machine(partId: string): Promise<Machine>;
  /** Polls until the machine satisfies `isSo`. The error contains its observed state. */
  until(partId: string, what: string, seconds: number, isSo: (machine: Machine) => boolean): Promise<Machine>;
  /** Messages of the LOGS tab, oldest first. */
  logs(partId: string): Promise<string[]>;
  /** Runs the command line as the owner. @throws Error if it fails */
  cli(...args: string[]): Promise<string>;
  /** Stops the server and starts the one of another checkout on its data folder and its port. */
  replaceServer(from: string): Promise<void>;
  /** The environment of the one-line installer for this machine. */
  installEnv(partId: string): Record<string, string>;
}

/**
 * @param isPlain - without TLS and on loopback, for measurements on this host.
 * @param from - checkout of the server's program; absent: this one.
 * @param validity - of the certificate and its authority; absent: decades.
 */
export async function startSite({
  isPlain = false,
  from = checkout,
  validity,
}: { isPlain?: boolean; from?: string; validity?: Validity } = {}): Promise<Site> {
  const keys = await tempFolder();
  const certificate = isPlain ? undefined : labCertificate(validity);
  const server = await replaceableServer(from, certificate ? await tlsFlags(keys, certificate) : []);
  const { local_url: url, port, install_script_command: scriptCommand, org_id, api_key_id, api_key } = server.ready;
  const transport = await signedIn(url, api_key_id, api_key);
  const fleet = createClient(FleetService, transport);
  const app = createClient(AppService, transport);
  const cli = cliOf({ PLATFORM_URL: url, PLATFORM_API_KEY_ID: api_key_id, PLATFORM_API_KEY: api_key });
  const machine = async (partId: string): Promise<Machine> => {
    const { machine: found } = await fleet.getMachine({ id: partId });
    if (!found) throw new Error(`no machine ${partId}`);
    return found;
  };
  await cli('release', 'keys', 'init', keys.file('keys'));
  return {
    port,
    localUrl: url,
    url: `${isPlain ? 'http' : 'https'}://${serverName}`,
    scriptCommand,
    fleet,
    authority: certificate?.authority ?? '',
    machine,
    cli,
    publish: publishWith(cli, keys.file('keys')),
    async createMachine(name) {
      const created = await fleet.createMachine({ organizationId: org_id, name });
      return { partId: created.machine?.partId ?? '', credentialsJson: created.credentialsJson };
    },
    async setUpText(partId) {
      const { code, serverUrl, authority } = await fleet.createSetUpCode({ partId });
      return setUpText({ code, server: serverUrl, ...(authority !== '' && { authority }) });
    },
    configure: async (partId, agent, beside) =>
      void (await fleet.saveConfig({ partId, configJson: JSON.stringify({ ...beside, agent }) })),
    until: untilSo(machine),
    logs: (partId) => allMessages(app, partId),
    replaceServer: server.replace,
    installEnv: (partId) => ({
      PLATFORM_API_KEY_ID: api_key_id,
      PLATFORM_API_KEY: api_key,
      PLATFORM_PART_ID: partId,
    }),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await keys[Symbol.asyncDispose]();
    },
  };
}

/** The command line of the owner whose key is in the environment. */
const cliOf =
  (env: Record<string, string>): Site['cli'] =>
  async (...args) => {
    const { code, stdout, stderr } = await runCli(env, ...args);
    if (code !== 0) throw new Error(`platform ${args.join(' ')} ended with ${code}:\n${stdout}${stderr}`);
    return stdout;
  };

const publishWith =
  (cli: Site['cli'], keys: string): Site['publish'] =>
  async ({ file }, ...channels) => {
    const pointed = channels.flatMap((channel) => ['--channel', channel]);
    await cli('release', 'publish', file, '--keys', keys, ...pointed);
  };

const mostText = 6_000;
/** CI shows a part of a long error only. */
const left = new Set(['$typeName', 'serverKnowledge', 'networks', 'settings', 'savedSha256', 'deviceDefaults']);
const shortly = (machine: Machine | undefined): string =>
  JSON.stringify(machine, (key, value: unknown) => {
    if (left.has(key)) return undefined;
    return typeof value === 'bigint' ? Number(value) : value;
  })?.slice(0, mostText);

const untilSo =
  (machine: Site['machine']): Site['until'] =>
  async (partId, what, seconds, isSo) => {
    let last: Machine | undefined;
    try {
      return await eventually(what, seconds, async () => {
        last = await machine(partId);
        return isSo(last) ? last : undefined;
      });
    } catch (error) {
      throw new Error(`${error instanceof Error ? error.message : String(error)}; the machine is\n${shortly(last)}`, {
        cause: error,
      });
    }
  };

async function allMessages(app: Client<typeof AppService>, partId: string): Promise<string[]> {
  const messages: string[] = [];
  for (let pageToken: string | undefined = ''; pageToken !== undefined;) {
    const page = await app.getRobotPartLogs({ id: partId, limit: 1_000n, order: LogOrder.ASCENDING, pageToken });
    messages.push(...page.logs.map(({ message }) => message));
    pageToken = page.nextPageToken === '' ? undefined : page.nextPageToken;
  }
  return messages;
}

/** A management server whose program can be replaced; its data folder and its port stay. */
async function replaceableServer(from: string, flags: readonly string[]) {
  const data = await dataFolder();
  let running = await startCloudAt({ checkout: from, dataDir: data.path, port: 0 }, ...flags);
  const { ready } = running;
  return {
    ready,
    async replace(other: string) {
      await running[Symbol.asyncDispose]();
      running = await startCloudAt({ checkout: other, dataDir: data.path, port: ready.port }, ...flags);
    },
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]();
      await data[Symbol.asyncDispose]();
    },
  };
}

async function tlsFlags(folder: TempFolder, { cert, key }: LabCertificate): Promise<string[]> {
  await writeFile(folder.file('cert.pem'), cert);
  await writeFile(folder.file('key.pem'), key, { mode: 0o600 });
  const files = ['--tls-cert', folder.file('cert.pem'), '--tls-key', folder.file('key.pem')];
  // Machines reach the server through another port number.
  return [...files, '--public-url', `https://${serverName}`];
}

async function signedIn(url: string, entity: string, payload: string): Promise<Transport> {
  const open = createClient(AuthService, createConnectTransport({ baseUrl: url }));
  const { accessToken } = await open.authenticate({ entity, credentials: { type: 'api-key', payload } });
  return createConnectTransport({
    baseUrl: url,
    useBinaryFormat: true,
    interceptors: [
      (next) => (request) => {
        request.header.set('authorization', `Bearer ${accessToken}`);
        return next(request);
      },
    ],
  });
}
