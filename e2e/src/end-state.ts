import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Client } from 'pg';

/** Finds the folder of the database's files: in the data folder, or where its pointer leads. */
function databaseFolder(dataDir: string): string {
  const home = path.join(dataDir, 'cloud', 'postgres');
  const pointer = path.join(home, 'location');
  return path.join(existsSync(pointer) ? readFileSync(pointer, 'utf8').trim() : home, '18');
}

/** Pid and socket of the running database of this data folder. */
export function postmasterOf(dataDir: string): { pid: number; socketFolder: string } | undefined {
  const file = path.join(databaseFolder(dataDir), 'postmaster.pid');
  if (!existsSync(file)) return undefined;
  const lines = readFileSync(file, 'utf8').split('\n');
  return { pid: Math.abs(Number(lines[0])), socketFolder: lines[4] ?? '' };
}

/** State that interruptions must not change: rows without ids and times, and hashes of files. */
const queries: Readonly<Record<string, string>> = {
  organizations: `select name from organization order by 1`,
  keys: `select name from api_key order by 1`,
  machines: `select m.name, p.name as part, p.is_main, p.revision from machine m join part p on p.machine_id = m.id order by 1, 2`,
  configs: `select revision, jsonb_object_keys(config) as key from config_revision order by 1, 2`,
  releases: `select name, version, platform, encode(sha256, 'hex') as sha256, target from release order by 1, 2, 3`,
  channels: `select name, channel, version from release_channel order by 1, 2`,
  images: `select file_name, sha256, size_bytes, tags from binary_data order by 1, 2`,
  members: `select d.name, b.file_name from dataset d join dataset_member m on m.dataset_id = d.id join binary_data b on b.id = m.binary_id order by 1, 2`,
  manifests: `select images from dataset_version order by 1`,
  claims: `select model_name, model_version from model_version_claim order by 1, 2`,
  jobs: `select model_name, model_version, state, labels from training_job order by 1, 2`,
  models: `select v.name, v.version, f.value ->> 'path' as path,
             case when f.value ->> 'path' ~ '\\.onnx$|labels\\.txt$' then f.value ->> 'sha256' end as sha256
           from registry_version v, jsonb_array_elements(v.files) f order by 1, 2, 3`,
  openLeases: `select count(*)::int as n from training_job where lease_until is not null`,
};

/** Every file that a row names. */
const namedFiles = `select sha256 from binary_data union select manifest_sha256 from dataset_version
  union select encode(sha256, 'hex') from release union select encode(sha256, 'hex') from release_patch
  union select package_sha256 from registry_version
  union select f.value ->> 'sha256' from registry_version v, jsonb_array_elements(v.files) f`;

/** Reads the normalised state of a data folder with a running database, and every file that a row names. */
export async function endState(dataDir: string): Promise<Record<string, unknown>> {
  const at = postmasterOf(dataDir);
  if (!at) throw new Error(`no database runs for ${dataDir}`);
  const client = new Client({ host: at.socketFolder, port: 5432, user: 'platform', database: 'platform' });
  await client.connect();
  try {
    const state: Record<string, unknown> = {};
    for (const [name, sql] of Object.entries(queries)) state[name] = (await client.query(sql)).rows;
    for (const file of state['models'] as { sha256: string | null }[]) {
      if (file.sha256 !== null) file.sha256 = contentOf(blobFile(dataDir, file.sha256) ?? '');
    }
    const { rows } = await client.query<{ sha256: string }>(namedFiles);
    state['damagedFiles'] = rows.map((row) => row.sha256).filter((sha256) => !isWhole(dataDir, sha256));
    state['machineFiles'] = machineFiles(dataDir);
    return state;
  } finally {
    await client.end();
  }
}

const blobFile = (dataDir: string, sha256: string): string | undefined =>
  globSync(path.join(dataDir, 'cloud', 'blobs', '**', sha256))[0];

function isWhole(dataDir: string, sha256: string): boolean {
  const file = blobFile(dataDir, sha256);
  return file !== undefined && createHash('sha256').update(readFileSync(file)).digest('hex') === sha256;
}

/** Hashes a file without the ids in it: a model names the frozen dataset of its training. */
function contentOf(file: string): string {
  if (!existsSync(file)) return 'missing';
  const text = readFileSync(file, 'latin1').replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'id');
  return createHash('sha256').update(text, 'latin1').digest('hex');
}

/** Names and hashes of the machine's server and models. */
function machineFiles(dataDir: string): string[] {
  const root = path.join(dataDir, 'demo-machine');
  const files = globSync(['bin/platform-server', '**/packages/data/**/*.onnx', '**/packages/data/**/labels.txt'], {
    cwd: root,
  });
  return files.map((file) => `${path.basename(file)} ${contentOf(path.join(root, file))}`).toSorted();
}
