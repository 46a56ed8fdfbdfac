import { type BinaryLike, createHash } from 'node:crypto';
import { installStepsPath } from '@platform/contract/provisioning/install-key';
import { redeemPath } from '@platform/contract/provisioning/set-up-code';
import { ReleaseService } from '@platform/contract/gen/platform/release/v1/release_pb';
import { signedPath } from '../../src/access/signed-urls.ts';
import { exportPath } from '../../src/data/sequence-export-downloads.ts';
import { archiveOf, scriptEntries } from '../script-archive.ts';
import { allKnown, type Known, type Subject } from './callers.ts';
import {
  type Answer,
  answersOf,
  foreigners,
  installers,
  machineOwners,
  members,
  type Named,
  owners,
  type Right,
} from './rights.ts';
import { exported } from './rights-of-sequences.ts';
import type { World } from './world.ts';

export type Page = Partial<Subject> & { path: string; body?: Uint8Array };

/** An HTTP request that is not an RPC. */
export type PageRight = Pick<Right, 'answers'> & {
  method: 'GET' | 'PUT' | 'POST';
  what: string;
  ofUnauthenticated(who: string): Answer;
  ask(world: World): Page | Promise<Page>;
};

type Asks = (world: World) => string | Page | Promise<string | Page>;

/** A page looks up its resource before it refuses a caller that belongs to no organization. */
const page = (
  method: PageRight['method'],
  what: string,
  { 'not found': absent = [], ...named }: Named,
  ask: Asks,
  ofUnauthenticated: (who: string) => Answer = () => 'not authenticated',
): PageRight => ({
  method,
  what,
  answers: answersOf({ 'not found': ['metrics reader', ...absent], ...named }),
  ofUnauthenticated,
  async ask(world) {
    const asked = await ask(world);
    return typeof asked === 'string' ? { path: asked } : asked;
  },
});

/** Public routes: the answer is the same for every caller. */
const open = (what: string, answer: Answer, ask: Asks): PageRight =>
  page('GET', what, { [answer]: allKnown }, ask, () => answer);

/** Publishes a release where a page shows it. */
export async function publishedRelease({ on, freshBlob }: World): Promise<void> {
  const { sha256, bytes } = await freshBlob();
  await (
    await on.client(ReleaseService)
  ).publishRelease({
    name: 'platform-agent',
    version: '1.0.0',
    platform: 'linux/amd64',
    sha256: Buffer.from(sha256, 'hex'),
    sizeBytes: BigInt(bytes.length),
  });
}

const releasePath = async ({ on }: World): Promise<string> => {
  const { releases } = await (await on.client(ReleaseService)).listReleases({ name: 'platform-agent' });
  return new URL(releases.find(({ revokedOn }) => !revokedOn)?.url ?? '').pathname;
};

const exportedFile = async (world: World): Promise<string> => exportPath(await exported(world));

const browsers: readonly Known[] = ['browser', 'browser from its own origin'];
/** A cookie alone changes nothing: another site's page could make a browser send it. */
const sending = (named: readonly Known[]): readonly Known[] => named.filter((who) => !browsers.includes(who));
const hashOf = (bytes: BinaryLike): string => createHash('sha256').update(bytes).digest('hex');
const later = (minutes: number): number => Date.now() + minutes * 60_000;
const linkOf = (key: Buffer, path: string, expiresAt: number): string =>
  signedPath(key, path, expiresAt, { kind: 'api_key', id: 'k' });
const isLive = (who: string): boolean => /^cookie (of|without)/.test(who);

const withoutProof: readonly PageRight[] = [
  open('health', 'ok', () => '/livez'),
  open('readiness', 'ok', () => '/readyz'),
  page('GET', 'metrics', { denied: allKnown, ok: [...installers, 'metrics reader'] }, () => '/metrics'),
  open('installer', 'ok', () => '/install.sh'),
  open('uninstaller', 'ok', () => '/uninstall.sh'),
  // Without a code; the answer to a wrong one is the same. One caller has redeemed its code before.
  page(
    'POST',
    'set-up code',
    { 'not found': allKnown },
    () => redeemPath,
    (who) => (who === 'set-up code' ? 'ok' : 'not found'),
  ),
  // One caller has used its key before; the answer to a wrong one is the same as without any.
  page(
    'POST',
    'step of an installation',
    { 'not authenticated': allKnown },
    () => `${installStepsPath}?step=started`,
    (who) => (who === 'one-time key' ? 'ok' : 'not authenticated'),
  ),
  // Public where the server has its own certificate authority; this server uses no TLS.
  open('authority', 'not found', () => '/authority.pem'),
  // Machines download without credentials and compare the hash.
  open('release', 'shows', releasePath),
  open('unknown release', 'not found', () => '/releases/platform-agent/99.0.0/linux-amd64/platform-agent'),
  open('SBOM of an unknown release', 'not found', () => '/releases/platform-agent/99.0.0/linux-amd64/sbom.cdx.json'),
  open('root document', 'ok', () => '/tuf/1.root.json'),
  open('timestamp document', 'ok', () => '/tuf/timestamp.json'),
  open('sums', 'ok', () => '/releases/SHA256SUMS'),
  open('signature of the sums', 'ok', () => '/releases/SHA256SUMS.sig'),
  open('patch', 'not found', () => `/releases/deltas/${'0'.repeat(64)}`),
  open('web app', 'not found', () => '/'),
  // A signed-in caller is redirected to the home page.
  page(
    'GET',
    'sign-in by a wrong link',
    { 'not authenticated': allKnown, ok: browsers },
    () => '/sign-in?token=wrong',
    (who) => (isLive(who) ? 'ok' : 'not authenticated'),
  ),
  page(
    'POST',
    'sign-in form with a wrong link',
    { 'not authenticated': allKnown, ok: browsers },
    () => ({ path: '/sign-in', body: Buffer.from('token=wrong') }),
    (who) => (isLive(who) ? 'denied' : 'not authenticated'),
  ),
];

const files: readonly PageRight[] = [
  page(
    'GET',
    'credentials file',
    { ok: machineOwners },
    ({ machine }) => `/api/json1/config?client=true&id=${machine.partId}`,
  ),
  page(
    'PUT',
    'new file',
    {
      denied: [...foreigners, 'installation owner', 'metrics reader'],
      ok: [...sending(members), 'runner', 'attempt', 'attempt of another job', 'foreign owner'],
      'not authenticated': browsers,
    },
    ({ freshName }) => {
      const body = Buffer.from(freshName());
      return { path: `/blobs/${hashOf(body)}`, body };
    },
  ),
  page(
    'GET',
    'image by its hash',
    { 'not found': allKnown, shows: [...members, 'runner', 'attempt', 'attempt of another job'] },
    ({ dataSha256 }) => `/blobs/${dataSha256}`,
  ),
  page(
    'GET',
    'model of the configuration',
    { ok: [...members, 'own machine'] },
    ({ orgId, modelName }) => `/packages/${orgId}/${modelName}/1.tar.gz`,
  ),
  page(
    'GET',
    'another model',
    { ok: members },
    ({ orgId, otherModelName }) => `/packages/${orgId}/${otherModelName}/1.tar.gz`,
  ),
  page('POST', 'new package', { ok: sending(owners), 'not authenticated': browsers }, async ({ orgId, freshName }) => ({
    path: `/packages/${orgId}/${freshName()}?type=ml_model&version=1`,
    body: await archiveOf(scriptEntries()),
  })),
  page('GET', 'image', { shows: [...members, 'script'] }, ({ dataId }) => `/data/${dataId}`),
  page(
    'GET',
    'image of no dataset',
    { shows: members, 'not found': [...foreigners, 'script'] },
    ({ looseId }) => `/data/${looseId}`,
  ),
  page('GET', 'export of sequences', { shows: members }, exportedFile),
  open('export of sequences by a signed link', 'shows', async (world) =>
    linkOf(world.signingKey, await exportedFile(world), later(10)),
  ),
  open('export of sequences by the link of a image', 'not authenticated', async (world) => {
    const link = linkOf(world.signingKey, `/data/${world.dataId}`, later(10));
    return link.replace(`/data/${world.dataId}`, await exportedFile(world));
  }),
  open('image by a signed link', 'shows', ({ signingKey, dataId }) => linkOf(signingKey, `/data/${dataId}`, later(10))),
  open('image by an old link', 'not authenticated', ({ signingKey, dataId }) =>
    linkOf(signingKey, `/data/${dataId}`, later(-10)),
  ),
  open('image by the link of another', 'not authenticated', ({ signingKey, dataId, looseId }) =>
    linkOf(signingKey, `/data/${looseId}`, later(10)).replace(looseId, dataId),
  ),
  open('image by a link signed with another key', 'not authenticated', ({ dataId }) =>
    linkOf(Buffer.alloc(32), `/data/${dataId}`, later(10)),
  ),
];

export const rightsOfPages: readonly PageRight[] = [...withoutProof, ...files];
