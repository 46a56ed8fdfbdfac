import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import test from 'node:test';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { AppService, LogOrder } from '@platform/contract/gen/platform/app/v1/app_pb';
import { RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import { DataSyncService, DataType } from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { AuthService } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import { systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { readyOf } from './process.ts';
import { transportTo } from './server.ts';

const main = path.resolve(import.meta.dirname, '..', 'src', 'main.ts');

const namespace = process.getuid?.() === 0 ? ['-m'] : ['-Ucm', '--keep-caps'];
/** Some systems do not let ordinary users mount, even in their own namespace. */
const canMount = spawnSync('unshare', [...namespace, 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0;

test(
  'a full disk: reported with its remedy, nothing lost, and all goes on when there is space again',
  { skip: canMount ? false : 'no right to mount' },
  async () => {
    await using folder = await tempFolder();
    const disk = folder.file('disk');
    mkdirSync(disk);
    // A small disk that only this server sees; an ordinary user may mount it in a user namespace.
    const script = 'mount -t tmpfs -o size=300m,mode=755 tmpfs "$1" && exec "$2" "$3" --data-dir "$1/data" --port 0';
    const child = spawn('unshare', [...namespace, 'sh', '-c', script, 'sh', disk, process.execPath, main], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { PATH: process.env['PATH'] },
    });
    const exit = once(child, 'exit');
    try {
      const [text] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
      const ready = readyOf(text, `/proc/${child.pid}/root`);
      const { accessToken } = await createClient(AuthService, transportTo(ready.url)).authenticate({
        entity: ready.api_key_id,
        credentials: { type: 'api-key', payload: ready.api_key },
      });
      const transport = transportTo(ready.url, accessToken);
      const [app, fleet, robot, sync] = [
        createClient(AppService, transport),
        createClient(FleetService, transport),
        createClient(RobotService, transport),
        createClient(DataSyncService, transport),
      ];
      const { partId = '' } = (await fleet.createMachine({ organizationId: ready.org_id, name: 'm' })).machine ?? {};
      const upload = (bytes: Uint8Array<ArrayBuffer>) =>
        sync.dataCaptureUpload({
          metadata: { partId, componentName: 'camera', type: DataType.BINARY_SENSOR, fileExtension: '.jpg' },
          sensorContents: [{ data: { case: 'binary', value: bytes } }],
        });
      const lines: string[] = [];
      const log = async (message: string): Promise<void> => {
        await robot.log({ id: partId, logs: [{ message, bootId: 'b', sequence: BigInt(lines.length + 1) }] });
        lines.push(message);
      };
      await upload(Buffer.from('one'));
      await log('before');

      const seen = `/proc/${child.pid}/root${disk}`;
      const filler = path.join(seen, 'filler');
      /** The database writes concurrently, so this fills the disk completely and then frees the requested bytes. */
      const fill = (leaveBytes: number): void => {
        for (const sizeBytes of [2 ** 20, 2 ** 12]) {
          try {
            for (;;) appendFileSync(filler, Buffer.alloc(sizeBytes));
          } catch (error) {
            assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC');
          }
        }
        truncateSync(filler, statSync(filler).size - leaveBytes);
      };

      fill(2 ** 20);
      const refused = await upload(Buffer.alloc(4 * 2 ** 20, 1)).then(
        () => assert.fail('it was taken'),
        ConnectError.from,
      );
      assert.equal(refused.code, Code.ResourceExhausted, refused.message);
      assert.match(refused.message, /no space left.*Free some space/is);
      await log('nearly full');

      // With a full disk, the database may stop.
      fill(0);
      const filling = { isRefused: false };
      for (let n = 1; !filling.isRefused && n < 2000; n++) {
        const big = 'x'.repeat(20_000);
        const answer = await robot
          .log({ id: partId, logs: [{ message: big, bootId: 'f', sequence: BigInt(n) }] })
          .then(() => undefined, ConnectError.from);
        filling.isRefused = answer !== undefined;
        if (answer) {
          assert.ok([Code.ResourceExhausted, Code.Unavailable].includes(answer.code), answer.message);
        }
      }
      assert.ok(filling.isRefused, 'the disk was not full');
      assert.equal(child.exitCode, null, 'the server lives');

      rmSync(filler);
      while (!(await fetch(`${ready.url}/readyz`).then((answer) => answer.ok))) await systemClock.sleep(50);
      await log('after');
      await upload(Buffer.alloc(4 * 2 ** 20, 1));
      const { logs } = await app.getRobotPartLogs({ id: partId, limit: 1000n, order: LogOrder.DESCENDING });
      const kept = logs.map((entry) => entry.message);
      assert.deepEqual(
        lines.filter((line) => !kept.includes(line)),
        [],
        'an acknowledged line is lost',
      );
    } finally {
      child.kill('SIGTERM');
      await exit;
    }
  },
);
