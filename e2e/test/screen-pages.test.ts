// Every page of the web app is in the screenshots.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressOf, screenPages, screenName } from '../src/screens/screen-pages.ts';

const ids = { machineId: 'm', jobId: 'j', datasetId: 'd', fragmentId: 'f', imageId: 'o/l/i' };

test('every route that shows a page has an address in the seeded installation, and a file of its own', () => {
  const pages = screenPages();
  const addresses = pages.map((one) => addressOf(one, ids));
  for (const page of ['/machines', '/machines/m/logs', '/training/j', '/datasets/d/label', '/fragments/f'])
    assert.ok(addresses.includes(page), page);
  assert.equal(addresses.filter((one) => one.endsWith('?id=o%2Fl%2Fi')).length, 1, 'the page of an image');
  assert.equal(new Set(pages.map(screenName)).size, pages.length);
  assert.deepEqual(
    addresses.filter((one) => one.includes('$')),
    [],
  );
});

test('a route whose parameter the seed does not know is refused by name', () => {
  const source = `const robots = createRoute({
  getParentRoute: () => root,
  path: '/robots/$robotId',
});
`;
  const [page = { path: '', hasImage: false }] = screenPages(source);
  assert.throws(() => addressOf(page, ids), /No screenshot of \/robots\/\$robotId: the seed has no robotId/);
});

test('a route that sends on is left out, and so is one whose children are the pages', () => {
  const source = `const index = createRoute({
  getParentRoute: () => root,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/machines', replace: true });
  },
});
const machine = createRoute({
  getParentRoute: () => root,
  path: '/machines/$machineId',
});
const logs = createRoute({
  getParentRoute: () => machine,
  path: 'logs',
});
`;
  assert.deepEqual(
    screenPages(source).map(({ path }) => path),
    ['/machines/$machineId/logs'],
  );
});
