import { createHmac, randomBytes } from 'node:crypto';
import { SignJWT } from 'jose';
import { sql } from 'kysely';
import { installerHeader, keyHeader, keyIdHeader } from '@platform/contract/provisioning/install-key';
import { codeHeader, deviceHeader, redeemPath } from '@platform/contract/provisioning/set-up-code';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { deleteKey, rotateKey } from '../../src/access/store/keys.ts';
import type { Credentials } from '../server.ts';
import type { Headers } from './ask.ts';
import { grantOn, type Job, type Machine, type World } from './world.ts';

/** The objects of one request; the callers are chosen to match them. */
export type Subject = { machine: Machine; job: Job; endedJob: Job; cookie: string };
type As = (world: World, of: Subject) => Promise<Headers>;

const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` });
const by =
  (credentials: (world: World, of: Subject) => Credentials): As =>
  async (world, of) =>
    bearer(await world.token(credentials(world, of)));
const cookie =
  (more: Headers): As =>
  (_, of) =>
    Promise.resolve({ cookie: of.cookie, ...more });

/** Callers with valid credentials. The tables of rights list what each may do. */
export const known = {
  'foreign owner': by(({ foreign }) => foreign.owner),
  'foreign machine': by(({ foreign }) => foreign.machine.part),
  'own machine': by((_, { machine }) => machine.part),
  'machine beside': by(({ beside }) => beside.part),
  'operator of the machine': by((_, { machine }) => machine.operator),
  'owner of the machine': by((_, { machine }) => machine.owner),
  'operator of the machine beside': by(({ beside }) => beside.operator),
  'owner of the machine beside': by(({ beside }) => beside.owner),
  'operator of its place': by(({ keys }) => keys.placeOperator),
  'owner of its place': by(({ keys }) => keys.placeOwner),
  'operator of another place': by(({ keys }) => keys.elsewhereOperator),
  'owner of another place': by(({ keys }) => keys.elsewhereOwner),
  operator: by(({ keys }) => keys.operator),
  owner: by(({ keys }) => keys.owner),
  runner: by(({ on }) => on.runner),
  attempt: async (_, { job }) => bearer(job.token),
  'attempt of another job': async ({ otherJob }) => bearer(otherJob.token),
  'ended attempt': async (_, { endedJob }) => bearer(endedJob.token),
  script: by((_, { job }) => job.script),
  'installation owner': by(({ keys }) => keys.installation),
  'metrics reader': by(({ keys }) => keys.metrics),
  'first key': by(({ on }) => on.owner),
  browser: cookie({}),
  'browser from its own origin': async ({ on }, of) => ({ cookie: of.cookie, origin: on.url }),
} satisfies Record<string, As>;

export type Known = keyof typeof known;
export const allKnown = Object.keys(known) as Known[];

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Creates a token with the claims of the first key's token, except for the changed ones. */
async function forged(
  { on, token, signingKey }: World,
  change: { alg?: string; audience?: string; issuer?: string; expired?: true; key?: Buffer },
): Promise<Headers> {
  const [, body = ''] = (await token(on.owner)).split('.');
  const claims = JSON.parse(Buffer.from(body, 'base64url').toString()) as Record<string, unknown>;
  const signed = new SignJWT({ rpc_creds_type: claims['rpc_creds_type'], proof: claims['proof'] })
    .setProtectedHeader({ alg: change.alg ?? 'HS256', kid: 'k1' })
    .setSubject(String(claims['sub']))
    .setAudience(change.audience ?? 'platform')
    .setIssuer(change.issuer ?? 'platform');
  if (change.expired) signed.setExpirationTime(1);
  return bearer(await signed.sign(change.key ?? signingKey));
}

async function cut({ on, token }: World, of: (head: string, body: string, signature: string) => string) {
  const [head = '', body = '', signature = ''] = (await token(on.owner)).split('.');
  return bearer(of(head, body, signature));
}

/** Creates a key with every right, then runs `then` on it. */
async function lostKey(world: World, then: (id: string) => Promise<unknown>): Promise<Credentials> {
  const { orgId } = world;
  const key = await world.freshKey([
    grantOn('owner', 'organization', orgId, orgId),
    grantOn('owner', 'installation', 'installation'),
  ]);
  await world.token(key);
  await then(key.entity);
  return key;
}

/** The headers with which a device redeemed a set-up code of a machine. The same device may do so again. */
async function setUpCode({ on, freshMachine }: World): Promise<Headers> {
  const { partId } = await freshMachine();
  const { code } = await (await on.client(FleetService)).createSetUpCode({ partId });
  const headers = { [codeHeader]: code, [deviceHeader]: randomBytes(32).toString('base64url') };
  const { ok } = await fetch(`${on.url}${redeemPath}`, { method: 'POST', headers });
  if (!ok) throw new Error('the set-up code was not redeemed');
  return headers;
}

/** The headers with which an installer used a one-time key of a machine. It may use it again until it is done. */
async function installKey({ on, freshMachine }: World): Promise<Headers> {
  const { partId } = await freshMachine();
  const { keyId, key } = await (await on.client(FleetService)).createInstallKey({ partId });
  const headers = { [keyIdHeader]: keyId, [keyHeader]: key, [installerHeader]: randomBytes(16).toString('hex') };
  const { ok } = await fetch(`${on.url}/api/json1/config?client=true&id=${partId}`, { headers });
  if (!ok) throw new Error('the one-time key was not used');
  return headers;
}

/** Callers without valid credentials. */
export async function unproven(world: World): Promise<Record<string, Headers>> {
  const { on, token, freshCookie } = world;
  const { db } = on;
  const subject = (await freshCookie()).split('=');
  const live = subject.join('=');
  const revoked = await lostKey(world, (id) => deleteKey(db, id));
  const rotated = await lostKey(world, (id) => rotateKey(db, id));
  const dead = await world.freshMachine();
  await token(dead.part);
  await sql`update part_secret set secret_hash = ${randomBytes(32)} where part_id = ${dead.partId}`.execute(db);
  await sql`insert into change (kind, key) values ('part', ${dead.partId})`.execute(db);
  const old = await world.freshJob('failed');
  await sql`update training_job set ended_on = now() - interval '1 day' where id = ${old.id}`.execute(db);
  const device = await setUpCode(world);
  const installer = await installKey(world);
  return {
    'no credentials': {},
    'set-up code': device,
    'set-up code as a key': { key_id: device[codeHeader] ?? '', key: device[deviceHeader] ?? '' },
    'one-time key': installer,
    'one-time key as a token': bearer(installer[keyHeader] ?? ''),
    'set-up code as a token': bearer(device[codeHeader] ?? ''),
    'metrics reader by its ID alone': { key_id: world.keys.metrics.entity },
    'a token alone': { authorization: await token(on.owner) },
    'an empty token': { authorization: 'Bearer ' },
    garbage: bearer('a.b.c'),
    'alg none': await cut(world, (_, body) => `${part({ alg: 'none' })}.${body}.`),
    'alg none with a signature': await cut(
      world,
      (_, body, signature) => `${part({ alg: 'none' })}.${body}.${signature}`,
    ),
    'empty signature': await cut(world, (head, body) => `${head}.${body}.`),
    'cut signature': await cut(world, (head, body, signature) => `${head}.${body}.${signature.slice(0, -4)}`),
    'other subject': await cut(
      world,
      (head, body, signature) =>
        `${head}.${part({ ...(JSON.parse(Buffer.from(body, 'base64url').toString()) as object), sub: on.runner.entity })}.${signature}`,
    ),
    'wrong key': await forged(world, { key: randomBytes(32) }),
    'empty key': bearer(await emptyKeyed(world)),
    'other algorithm': await forged(world, { alg: 'HS512', key: randomBytes(64) }),
    'other algorithm, right key': await forged(world, { alg: 'HS512', key: world.signingKey }).catch(() =>
      bearer('x.y.z'),
    ),
    'wrong audience': await forged(world, { audience: 'other' }),
    'wrong issuer': await forged(world, { issuer: 'other' }),
    expired: await forged(world, { expired: true }),
    'revoked key': bearer(await token(revoked)),
    'rotated key': bearer(await token(rotated)),
    'rotated key by its old secret': { key_id: rotated.entity, key: rotated.payload },
    'revoked machine secret': bearer(await token(dead.part)),
    'revoked machine secret by itself': { part_id: dead.partId, secret: dead.part.payload },
    'attempt long ended': bearer(old.token),
    'script of an ended job': { key_id: old.script.entity, key: old.script.payload },
    'cookie of a foreign origin': { cookie: live, origin: 'http://evil.example' },
    'cookie of a null origin': { cookie: live, origin: 'null' },
    'cookie of another port': { cookie: live, origin: 'http://127.0.0.1:1' },
    'unknown cookie': { cookie: `${subject[0] ?? ''}=${randomBytes(32).toString('base64url')}` },
    'empty cookie': { cookie: `${subject[0] ?? ''}=` },
  };
}

async function emptyKeyed({ on, token }: World): Promise<string> {
  const [head = '', body = ''] = (await token(on.owner)).split('.');
  const signature = createHmac('sha256', '').update(`${head}.${body}`).digest('base64url');
  return `${head}.${body}.${signature}`;
}
