import { Client } from 'pg';

type Connected = { host: string; port: number; user: string; database: string };

/** Returns the rows of the last statement. */
export async function statement(at: Connected, text: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ host: at.host, port: at.port, user: at.user, database: at.database });
  await client.connect();
  try {
    const result = await client.query<Record<string, unknown>>(text);
    return [result].flat().at(-1)?.rows ?? [];
  } finally {
    await client.end();
  }
}
