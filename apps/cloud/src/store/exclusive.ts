import { Client } from 'pg';
import { PlatformError } from '@platform/contract/errors';
import { errorText, type Clock, type Log } from '@platform/kit';
import { type Connection, clientConfig } from './database.ts';

/** Any number, the same in every version: one server at a time works on a database. */
const lockKey = 7_236_502;
const waitMs = 10_000;
const againMs = 250;

/** Released when its connection ends, also by kill −9. */
export type Exclusive = { close(): Promise<void> };

/**
 * Takes the database for this server alone and keeps it over broken connections.
 *
 * @param onLost - another server took it while our connection was broken: stop.
 * @throws PlatformError DATA_DIR_IN_USE while another server has it.
 */
export async function holdDatabase(of: {
  connection: Connection;
  where: string;
  clock: Clock;
  log: Log;
  onLost: (error: PlatformError) => void;
}): Promise<Exclusive> {
  const stop = new AbortController();
  const state: { client: Client } = { client: await take() };

  async function take(): Promise<Client> {
    const client = new Client({ ...clientConfig(of.connection), keepAlive: true });
    client.on('error', (error) => of.log.debug('the lock connection broke', { error: errorText(error) }));
    await client.connect();
    for (const start = of.clock.now(); ; await of.clock.sleep(againMs, stop.signal)) {
      const { rows } = await client.query<{ taken: boolean }>('select pg_try_advisory_lock($1) as taken', [lockKey]);
      if (rows[0]?.taken) return client;
      // Sessions of a server that was killed end within moments.
      if (stop.signal.aborted || of.clock.now() - start > waitMs) {
        await client.end();
        throw new PlatformError('DATA_DIR_IN_USE', { path: of.where });
      }
    }
  }
  const keep = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      await new Promise<void>((resolve) => state.client.once('end', () => resolve()));
      while (!stop.signal.aborted) {
        try {
          state.client = await take();
          break;
        } catch (error) {
          if (error instanceof PlatformError && !stop.signal.aborted) return of.onLost(error);
          await of.clock.sleep(againMs, stop.signal);
        }
      }
    }
  };
  const kept = keep();
  return {
    async close() {
      stop.abort();
      await state.client.end().catch(() => {});
      await kept;
    },
  };
}
