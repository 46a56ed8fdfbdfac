// Connects to the database as another user: argv is uid, socket folder, role, database. Prints the answer or the
// failure. Loads everything before it changes the user: only root may be able to read the checkout.
import { Client } from 'pg';

const [uid = '', host = '', user = '', database = ''] = process.argv.slice(2);
process.setgroups?.([]);
process.setgid?.(Number(uid));
process.setuid?.(Number(uid));
const client = new Client({ host, port: 5432, user, database });
try {
  await client.connect();
  const { rows } = await client.query<{ who: string }>('select current_user as who');
  process.stdout.write(`connected as ${rows[0]?.who}\n`);
  await client.end();
} catch (error) {
  process.stdout.write(
    `${error instanceof Error ? `${(error as { code?: string }).code} ${error.message}` : String(error)}\n`,
  );
}
process.exit();
