// When a revision of the network counts as in effect.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noContent, nothingYet } from '../../state/state.ts';
import { withNetworks } from './network-effect.ts';
import type { NetworkRow, NetworkRows } from './network-rows.ts';
import type { NetworkStatus } from './network-status.ts';

const status = (rows: NetworkRows | undefined): NetworkStatus => ({
  mode: 'normal',
  sinceWall: 0,
  why: '',
  next: '',
  nextWall: null,
  hasLink: true,
  connectivity: 'full',
  checkedWall: null,
  isCloudReached: true,
  links: [],
  hotspotSsid: '',
  hotspotWaiting: { fields: [], why: '' },
  attempts: [],
  notes: [],
  isOnFallback: false,
  ...(rows && { rows }),
});
const content = (revision: number) => ({ revision, configSha256: `sha-${revision}` });
const rows = (revision: number, ineffective: NetworkRows['ineffective'] = []): NetworkRows => ({
  ...content(revision),
  networks: [],
  settings: [],
  ineffective,
});
const none = { section: 'additional_networks', path: 'agent.additional_networks.x', reason: 'r', remedy: '' };
const applied = { ...content(3), failure: undefined };

test('a network with an unusable certificate holds the slice back, with its path', () => {
  const row: NetworkRow = {
    path: 'agent.additional_networks.office',
    name: 'office',
    interface: '',
    state: 'refused',
    text: 'eap_client_key is damaged',
    code: 'NETWORK_CERTIFICATE_UNUSABLE',
    sinceWall: 1,
    measuredWall: 1,
    lastSeenWall: null,
    hasNoEffect: false,
  };
  const { networkFailure } = withNetworks(nothingYet, applied, status({ ...rows(3), networks: [row] }));
  assert.deepEqual(networkFailure, {
    code: 'NETWORK_CERTIFICATE_UNUSABLE',
    reason: 'agent.additional_networks.office: eap_client_key is damaged',
  });
  assert.equal(withNetworks(nothingYet, applied, status(rows(3))).networkFailure, undefined);
});

test('a revision counts once its rows are measured, too', () => {
  const before = withNetworks(nothingYet, applied, status(undefined));
  assert.deepEqual(before.acted.network, noContent, 'profiles are written, nothing is measured');
  assert.deepEqual(withNetworks(before, applied, status(rows(2))).acted.network, noContent);
  const other = { ...rows(3), configSha256: 'the same number with other content' };
  assert.deepEqual(withNetworks(before, applied, status(other)).acted.network, noContent);
  const after = withNetworks(before, applied, status(rows(3, [none])));
  assert.deepEqual(after.acted.network, content(3));
  assert.deepEqual(after.networkIneffective, [none]);
  const next = { ...content(4), failure: undefined };
  assert.deepEqual(withNetworks(after, applied, status(rows(4))).acted.network, content(3), 'nothing is written yet');
  assert.deepEqual(withNetworks(after, next, status(rows(3))).acted.network, noContent, 'the profiles are others');
  const lost = withNetworks(after, applied, undefined);
  assert.deepEqual(
    [lost.acted.network, lost.networkIneffective],
    [content(3), [none]],
    'the part that measures starts again',
  );
  assert.equal('networkIneffective' in withNetworks(lost, applied, status(rows(3))), false);
});
