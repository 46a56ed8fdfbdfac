// The form of a training shows the split of the dataset before the submit, on a wide and on a narrow screen.
import { test } from 'node:test';
import type { PlatformClient } from '@platform/client';
import type { Page } from 'playwright-core';
import { clientOf, startCloud } from '../src/cloud-process.ts';
import { checkPage } from '../src/page-checks.ts';
import { atEachWidth } from '../src/page-widths.ts';
import { createTaggedDataset } from '../src/tagged-images.ts';

const datasets = {
  'no groups': { balloon: 12, bear: 12 },
  'some groups': {
    balloon: 1,
    'balloon+group:balloon-0': 2,
    'balloon+group:balloon-1': 3,
    'balloon+group:balloon-2': 3,
    'balloon+group:balloon-3': 3,
    'bear+group:bear-0': 6,
    'bear+group:bear-1': 6,
  },
  'one group': { 'balloon+group:all': 12, 'bear+group:all': 12 },
};
type Ids = Readonly<Record<keyof typeof datasets, string>>;

async function createDatasets(client: PlatformClient, organizationId: string): Promise<Ids> {
  const create = async (name: keyof typeof datasets): Promise<string> =>
    createTaggedDataset(client, organizationId, name, datasets[name]);
  return {
    'no groups': await create('no groups'),
    'some groups': await create('some groups'),
    'one group': await create('one group'),
  };
}

/** Without groups, with labels that no test image shows, and refused. */
async function seesSplit(page: Page, url: string, ids: Ids): Promise<void> {
  const preview = page.getByRole('group', { name: 'Training and test images' });
  const open = (name: keyof typeof datasets) => page.goto(`${url}/training/new?dataset=${ids[name]}`);

  await open('no groups');
  await preview.getByText(/^By image: one object may be in training and test/).waitFor();
  await preview.getByText('16 images for training, 4 for validation, 4 for the test.').waitFor();
  await checkPage(page, 'submit without groups');

  await open('some groups');
  await preview.getByText(/^By group: .* 6 groups, 1 image without a group/).waitFor();
  await preview.getByText('1 image has no group: tag and is split by image.').waitFor();
  await preview.getByText(/^No image of "bear" is in the test: its images are in 2 groups/).waitFor();
  await checkPage(page, 'submit with a label that no test image shows');
  await page.getByLabel('Type').selectOption({ label: 'Multi-label classification' });
  await preview.getByText(/^No image of "bear" is in the test/).waitFor();

  await open('one group');
  await preview.getByText(/^No image of .* can be held out/).waitFor();
  await preview.getByText(/1 group, 0 images without a group/).waitFor();
  await checkPage(page, 'submit of one group');
}

test('the form shows the split before the submit', async () => {
  await using cloud = await startCloud();
  const { ready } = cloud;
  const client = clientOf(ready);
  const ids = await createDatasets(client, ready.org_id);
  await atEachWidth({ client }, async ({ signIn }) => {
    await seesSplit(await signIn(), ready.url, ids);
  });
});
