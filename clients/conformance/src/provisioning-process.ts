// A device in provisioning, as a program on the runtime of the built agent.
import assert from 'node:assert/strict';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { spawnGroup } from '@platform/kit/node';

const checkout = path.resolve(import.meta.dirname, '../../..');
const bun = path.join(
  checkout,
  'node_modules/@oven',
  `bun-linux-${process.arch === 'arm64' ? 'aarch64' : 'x64'}`,
  'bin/bun',
);

/** What the device handed to its agent. */
export interface Submission {
  readonly wifi?: { readonly ssid: string; readonly psk: string; readonly isHidden: boolean };
  readonly credentials?: string;
}

export interface ProvisioningProcess extends AsyncDisposable {
  readonly port: number;
  /** Ends the device. @returns everything that it handed to its agent */
  end(): Promise<readonly Submission[]>;
}

export async function startProvisioning(): Promise<ProvisioningProcess> {
  const group = await spawnGroup({
    command: bun,
    args: [path.join(checkout, 'apps/agent/test/provisioning-server.ts')],
  });
  group.stderr?.pipe(process.stderr, { end: false });
  assert.ok(group.stdout);
  const lines = createInterface({ input: group.stdout })[Symbol.asyncIterator]();
  const first = await lines.next();
  assert.ok(!first.done, 'the device ended before it was ready');
  const { port } = JSON.parse(first.value) as { port: number };
  const stop = async (): Promise<void> => void (await group.stop({ termMs: 5_000 }));
  return {
    port,
    async end() {
      await stop();
      const submissions: Submission[] = [];
      for (let line = await lines.next(); !line.done; line = await lines.next()) {
        const { submission } = JSON.parse(line.value) as { submission?: Submission };
        if (submission) submissions.push(submission);
      }
      return submissions;
    },
    [Symbol.asyncDispose]: stop,
  };
}
