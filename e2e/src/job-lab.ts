// A real server with a real database on a clock that the test drives, with kills, restarts and calls.
import { createHash } from 'node:crypto';
import path from 'node:path';
import type { DescService } from '@bufbuild/protobuf';
import { type Client, createClient, type Interceptor, type Transport } from '@connectrpc/connect';
import { createConnectTransport, createGrpcWebTransport } from '@connectrpc/connect-web';
import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { DataSyncService, DataType } from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import { MLTrainingService, ModelType } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { AuthService } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import { plainEnvironment, type ProcessGroup, spawnGroup, systemClock } from '@platform/kit/node';
import { smallPng } from '@platform/kit/testing';
import { tempFolder, type TempFolder } from '@platform/kit/testing';
import { postmasterOf } from './end-state.ts';
import { ServerLab } from './server-lab.ts';
import { onSmallDisk, plain } from './small-disk.ts';
import { checkout } from './up-process.ts';

const program = path.join(checkout, 'apps', 'cloud', 'test', 'clocked-server.ts');
/** The limit for eventual events; only a broken server reaches it. */
const patienceMs = 60_000;

type Protocol = 'connect' | 'connect-json' | 'grpc-web';

export class JobLab extends ServerLab {
  readonly #tokens = new Map<string, Promise<string>>();
  #jumpedMs = 0;
  /** Since the start of the server. */
  #advancedMs = 0;
  #killedDatabase = 0;
  readonly #diskMib: number | undefined;

  private constructor(folder: TempFolder, diskMib: number | undefined) {
    super(folder);
    this.#diskMib = diskMib;
  }
  /**
   * `diskMib`: all files of the server are on a disk of that size, which only the server sees; `sql` is then
   * unavailable.
   */
  static async open({ diskMib }: { diskMib?: number } = {}): Promise<JobLab> {
    const lab = new JobLab(await tempFolder(), diskMib);
    await lab.start();
    return lab;
  }

  protected launch(args: readonly string[]): Promise<ProcessGroup> {
    const run = [process.execPath, '--disable-warning=ExperimentalWarning', program, ...args];
    const disk = this.#diskMib;
    return spawnGroup({
      ...(disk === undefined ? plain(run) : onSmallDisk(this.folder.path, disk, run)),
      env: plainEnvironment({ JUMPED_MS: String(this.#jumpedMs) }),
      cwd: checkout,
      stdin: 'pipe',
    });
  }
  async restart(): Promise<void> {
    await this.kill();
    this.#advancedMs = 0;
    await this.start();
  }
  /** Kills the postmaster, which ends its other processes; the server restarts it. */
  killDatabase(): void {
    const { pid = 0 } = postmasterOf(this.folder.path) ?? {};
    if (!(pid > 0)) return;
    this.#killedDatabase = pid;
    process.kill(pid, 'SIGKILL');
  }
  async isReady(): Promise<boolean> {
    return fetch(`${this.ready.url}/readyz`).then(
      (answer) => answer.ok,
      () => false,
    );
  }
  async untilReady(): Promise<void> {
    await this.until('the server is ready', async () => {
      const { pid } = postmasterOf(this.folder.path) ?? {};
      return pid !== this.#killedDatabase && (await this.isReady());
    });
  }

  /** Advances the server's clock, by default in steps as small as its own. */
  async advance(ms: number, stepMs = 1000): Promise<void> {
    for (let left = ms; left > 0; left -= stepMs) await this.#tell(`advance ${Math.min(left, stepMs)}`);
    this.#advancedMs += ms;
  }
  /** Kills the server, and starts it so much later by its clock. */
  async restartAfter(ms: number): Promise<void> {
    await this.kill();
    this.#jumpedMs += this.#advancedMs + ms;
    this.#advancedMs = 0;
    await this.start();
  }
  /** Changes the server's wall clock. */
  async jumpWall(ms: number): Promise<void> {
    this.#jumpedMs += ms;
    await this.#tell(`jump ${ms}`);
  }
  async #tell(line: string): Promise<void> {
    await this.tell(line);
    // Each due timer queries the database before it can become due again.
    await systemClock.sleep(30);
  }

  /** Polls until the condition holds. */
  async until(what: string, look: () => Promise<boolean>): Promise<void> {
    const end = systemClock.now() + patienceMs;
    while (!(await look())) {
      if (systemClock.now() > end) throw new Error(`never: ${what}`);
      await systemClock.sleep(25);
    }
  }

  /** Creates a client of the running server. */
  async client<S extends DescService>(
    service: S,
    who: 'owner' | 'runner' = 'owner',
    protocol: Protocol = 'connect',
  ): Promise<Client<S>> {
    return createClient(service, this.#transport(protocol, await this.token(who)));
  }
  async token(who: 'owner' | 'runner'): Promise<string> {
    const { api_key_id, api_key, runner_key_id, runner_key } = this.ready;
    const [entity, payload] = who === 'owner' ? [api_key_id, api_key] : [runner_key_id, runner_key];
    const ask = async () =>
      (
        await createClient(AuthService, this.#transport('connect')).authenticate({
          entity,
          credentials: { type: 'api-key', payload },
        })
      ).accessToken;
    const known = this.#tokens.get(who);
    if (known) return known;
    const token = ask();
    this.#tokens.set(who, token);
    token.catch(() => this.#tokens.delete(who));
    return token;
  }
  #transport(protocol: Protocol, token?: string): Transport {
    const interceptors: Interceptor[] =
      token === undefined
        ? []
        : [
            (next) => (request) => {
              request.header.set('authorization', `Bearer ${token}`);
              return next(request);
            },
          ];
    const baseUrl = this.ready.url;
    if (protocol === 'grpc-web') return createGrpcWebTransport({ baseUrl, interceptors });
    return createConnectTransport({ baseUrl, interceptors, useBinaryFormat: protocol === 'connect' });
  }
  async putBlob(bytes: Buffer): Promise<{ sha256: string; sizeBytes: bigint }> {
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const answer = await fetch(`${this.ready.url}/blobs/${sha256}`, {
      method: 'PUT',
      body: new Uint8Array(bytes),
      headers: { authorization: `Bearer ${await this.token('runner')}` },
    });
    if (!answer.ok) throw new Error(`PUT /blobs: ${answer.status}`);
    await answer.arrayBuffer();
    return { sha256, sizeBytes: BigInt(bytes.length) };
  }

  /** Creates the smallest dataset that a built-in trainer accepts. */
  async dataset(name = 'images'): Promise<string> {
    const { org_id: organizationId } = this.ready;
    const fleet = await this.client(FleetService);
    const partId = (await fleet.createMachine({ organizationId, name })).machine?.partId ?? '';
    const { id } = await (await this.client(DatasetService)).createDataset({ organizationId, name });
    const sync = await this.client(DataSyncService);
    await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        sync.dataCaptureUpload({
          metadata: {
            partId,
            type: DataType.BINARY_SENSOR,
            fileExtension: '.png',
            // Measured when it arrives, so that its row stays as it is.
            imagesOnly: true,
            tags: [n % 2 ? 'a' : 'b'],
            datasetIds: [id],
          },
          sensorContents: [{ data: { case: 'binary', value: smallPng(`image ${n} of ${name}`) } }],
        }),
      ),
    );
    return id;
  }
  async submit(
    datasetId: string,
    modelVersion: string,
    {
      modelName = 'm',
      protocol = 'connect',
      gpus = 0,
    }: { modelName?: string; protocol?: Protocol; gpus?: number } = {},
  ): Promise<string> {
    const training = await this.client(MLTrainingService, 'owner', protocol);
    const { id } = await training.submitTrainingJob({
      organizationId: this.ready.org_id,
      datasetId,
      modelName,
      modelVersion,
      modelType: ModelType.SINGLE_LABEL_CLASSIFICATION,
      tags: ['a', 'b'],
      ...(gpus > 0 ? { resources: { gpus } } : {}),
    });
    return id;
  }
}
