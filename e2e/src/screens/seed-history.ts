// What only time gives an installation: a day of numbers of the fleet.
import path from 'node:path';
import { systemClock } from '@platform/kit/node';
import { Client } from 'pg';
import { postmasterOf } from '../end-state.ts';

const every = 5 * 60_000;
const samples = 288;

/** How many of 24 machines were online: one or two away, a power cut in the night. */
const onlineAt = (n: number): number => (n > 96 && n < 110 ? 14 : 22 - (n % 61 < 9 ? 1 : 0) - (n % 47 < 5 ? 1 : 0));

/** @param folder - holds the folder `cloud`, in which the server keeps its data. */
export async function seedHistory(folder: string, organizationId: string): Promise<void> {
  const database = postmasterOf(folder);
  if (!database) throw new Error(`no database runs in ${path.join(folder, 'cloud')}`);
  const client = new Client({ host: database.socketFolder, port: 5432, user: 'platform', database: 'platform' });
  await client.connect();
  const now = Math.floor(systemClock.wall() / every) * every;
  const rows = Array.from({ length: samples }, (_, n) => ({
    time: new Date(now - (samples - n) * every),
    online: onlineAt(n),
  }));
  try {
    await client.query(
      `insert into fleet_sample (org_id, time, machines, online)
         select $1, time, 24, online from unnest($2::timestamptz[], $3::int[]) new(time, online) on conflict do nothing`,
      [organizationId, rows.map(({ time }) => time), rows.map(({ online }) => online)],
    );
  } finally {
    await client.end();
  }
}
