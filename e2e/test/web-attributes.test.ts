// CONFIGURE draws the attributes of components and services from the schemas that the machine server reports.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import serverSchemas from '@platform/contract/gen/server-schemas.json' with { type: 'json' };
import type { Locator, Page } from 'playwright-core';
import { clientOf, startCloud } from '../src/cloud-process.ts';
import { checkPage, openJson } from '../src/page-checks.ts';
import { atEachWidth } from '../src/page-widths.ts';
import { makeModel } from '../src/small-model.ts';
import { wireMachine } from '../src/wire-callers.ts';

const depthCamera = {
  kind: 'component',
  type: 'acme:component:camera',
  model: 'acme:vision:depth',
  title: 'Depth camera',
  description: 'Measures distances.',
  attributes: {
    type: 'object',
    required: ['serial'],
    properties: {
      serial: { type: 'string', pattern: '^[0-9]{4}$', expected: 'four digits', title: 'Serial number' },
      rate: { type: 'integer', minimum: 1, maximum: 60, default: 30, unit: 'Hz', title: 'Rate' },
      infrared: { type: 'boolean', default: true, title: 'Infrared light' },
      mode: { oneOf: [{ const: 'near' }, { const: 'far' }], title: 'Mode', description: 'How far it looks.' },
      gains: { type: 'array', items: { type: 'number' }, title: 'Gains' },
      optics: {
        type: 'object',
        title: 'Optics',
        description: 'How it focuses.',
        properties: { focus: { type: 'number', unit: 'mm', title: 'Focus' }, ring: { $ref: '#/$defs/ring' } },
      },
      zones: { type: 'array', items: { $ref: '#/$defs/zone' }, title: 'Zones' },
      trigger: { anyOf: [{ type: 'string' }, { type: 'number' }], title: 'Trigger' },
    },
    examples: [{ serial: '0001' }],
  },
};
/** Its expression explodes, its titles turn the text around. */
const hostileSensor = {
  kind: 'component',
  type: 'sensor',
  model: 'hostile',
  title: '\u202eרשם\u202e',
  description: '',
  attributes: {
    properties: {
      code: { type: 'string', pattern: '^(a+)+$', title: 'Code' },
      inner: { $ref: '#/$defs/inner', title: 'Inner' },
    },
    examples: [{ code: `${'a'.repeat(40)}!` }],
  },
};
const document = {
  models: [depthCamera, hostileSensor, ...serverSchemas.models],
  $defs: {
    ring: { type: 'object', title: 'Ring', properties: { width: { type: 'number', title: 'Width' } } },
    zone: { type: 'object', properties: { name: { type: 'string', title: 'Name of the zone' } } },
    inner: { type: 'object', properties: { inner: { $ref: '#/$defs/inner', title: 'Inner' } } },
  },
};

/** Typed by hand. */
const typed = `{
  "components": [
    { "name":"front",  "api":"acme:component:camera", "model": "acme:vision:depth",
      "attributes": { "serial":"0001", "rate": 2e1, "gains": [1.0,  2] } }
  ]
}
`;

const group = (at: Page | Locator, name: string) => at.getByRole('group', { name, exact: true });
const button = (at: Page | Locator, name: string | RegExp) => at.getByRole('button', { name });
const textOf = async (page: Page): Promise<string> =>
  (await page.locator('.cm-content .cm-line').allTextContents()).join('\n');
async function open(at: Page | Locator, name: string): Promise<Locator> {
  const found = group(at, name);
  const head = found.getByRole('button').first();
  if ((await head.getAttribute('aria-expanded')) === 'false') await head.click();
  return found;
}

test('attributes are drawn from the schemas of the machine server, and the text keeps what was typed', async () => {
  await using cloud = await startCloud();
  const { ready } = cloud;
  const client = clientOf(ready);
  await makeModel(client, ready);
  await atEachWidth({ client }, async ({ width, signIn }) => {
    const name = `press ${width}`;
    const created = await client.fleetClient.createMachine({ organizationId: ready.org_id, name });
    const partId = created.machine?.partId ?? '';
    await client.fleetClient.saveConfig({ partId, configJson: typed });
    const machine = await wireMachine(created.credentialsJson);
    await machine.reportSchemas(document);
    const page = await signIn();
    await page.goto(`${ready.url}/machines/${created.machine?.id ?? ''}/configure`);
    // The editor comes with the first look at the JSON.
    await group(page, 'front').waitFor();
    assert.equal(await page.locator('.cm-content').count(), 0);
    if (width < 1080) await button(page, 'JSON').click();
    await openJson(page);
    if (width < 1080) await button(page, 'Form').click();
    const front = await open(page, 'front');
    await front.getByText('Measures distances.').waitFor();
    await editsKeepTheText(page, front);
    await hintsStandAtTheirFields(page, front);
    await front.getByRole('radiogroup', { name: 'Infrared light' }).getByLabel('Off').check();
    await checkPage(page, `attributes, ${width} px`);
    await page.emulateMedia({ colorScheme: 'dark' });
    await checkPage(page, `attributes dark, ${width} px`);
    await hostileSchemaLeavesThePageUsable(page, width);
    await choosesAModel(page, width, ready.org_id);
    await page.emulateMedia({ colorScheme: 'light' });
    await button(page, /^Review and save/).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText(/Saved as revision 2/).waitFor();
    const { configJson } = await client.fleetClient.getConfig({ partId });
    const kept = typed.slice(0, typed.indexOf(', "rate"'));
    assert.ok(configJson.startsWith(`${kept}, "gains": [1.0,  2], "rate": 20,`), configJson);
    // The machine server is replaced by one that reports none.
    await machine.reportSchemas(undefined);
    await page.reload();
    await page.getByText('The server of this machine has reported no schemas.').waitFor();
    await checkPage(page, `attributes without schemas, ${width} px`);
  });
});

async function editsKeepTheText(page: Page, front: Locator): Promise<void> {
  assert.equal(await front.getByLabel('Rate', { exact: true }).inputValue(), '2e1');
  await front.getByLabel('Mode', { exact: true }).selectOption('far');
  await button(await open(front, 'Optics'), 'Ring').click();
  await front.getByLabel('Focus', { exact: true }).fill('1.50');
  await group(front, 'Ring').getByLabel('Width', { exact: true }).fill('3');
  await button(await open(front, 'Zones'), 'Add to Zones').click();
  await front.getByLabel('Name of the zone', { exact: true }).fill('gate 4');
  await button(front, 'Add to Gains').click();
  await front.getByLabel('Gains 3', { exact: true }).fill('0.30');
  const attributes = `"serial":"0001", "rate": 2e1, "gains": [1.0,  2, 0.30], "mode": "far",`;
  assert.ok((await textOf(page)).includes(attributes), await textOf(page));
  assert.match(await textOf(page), /"optics": *{[^}]*"focus": *1\.50,[^}]*"ring": *{\s*"width": *3/);
  assert.match(await textOf(page), /"zones": *\[\s*{\s*"name": *"gate 4"/);
  // Unset is not the default, and each can be returned to.
  await button(front, 'Use default of Rate').click();
  await button(front, 'Unset of Mode').click();
  await button(front, 'Unset Optics').click();
  await button(front, 'Unset Zones').click();
  await button(front, 'Remove Gains 3').click();
  assert.equal((await textOf(page)).trimEnd(), typed.replace('"rate": 2e1, ', '').trimEnd());
  await group(front, 'Trigger').or(front.getByText('Edit it in the JSON.')).first().waitFor();
}

async function hintsStandAtTheirFields(page: Page, front: Locator): Promise<void> {
  await front.getByLabel('Rate', { exact: true }).fill('61');
  await front.getByText('must be at most 60.').waitFor();
  await front.getByLabel('Serial number', { exact: true }).fill('12');
  await front.getByText('must be four digits.').waitFor();
  await page.getByRole('region', { name: 'Problems' }).getByText('must be four digits.').waitFor();
  await front.getByLabel('Serial number', { exact: true }).fill('0001');
  await front.getByLabel('Rate', { exact: true }).fill('20');
  await front.getByText('must be at most 60.').waitFor({ state: 'detached' });
}

async function hostileSchemaLeavesThePageUsable(page: Page, width: number): Promise<void> {
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  const list = page.getByRole('dialog', { name: 'Add to the configuration' });
  await group(list, 'What the server of this machine runs').waitFor();
  await checkPage(page, `what the machine server runs, ${width} px`);
  await button(list, /sensor · hostile/).click();
  const sensor = await open(page, 'sensor-1');
  await sensor.getByText('Not checked in the page: its schema takes more than 1 second to evaluate.').waitFor();
  await sensor.getByLabel('Code', { exact: true }).fill('typed meanwhile');
  assert.match(await textOf(page), /"code": *"typed meanwhile"/);
  // A schema that contains itself ends in the JSON.
  for (let level = 0; level < 4; level++)
    await button(sensor, /^Inner/)
      .nth(level)
      .click();
  await sensor.getByText('Edit it in the JSON.').waitFor();
  await button(page, 'Remove sensor-1').click();
  assert.ok(!(await textOf(page)).includes('hostile'));
}

async function choosesAModel(page: Page, width: number, orgId: string): Promise<void> {
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  const list = page.getByRole('dialog', { name: 'Add to the configuration' });
  await button(list, /mlmodel · onnx_cpu/).click();
  const model = await open(page, 'mlmodel-1');
  await model.getByLabel('From the registry').selectOption({ label: 'finder' });
  await model.getByLabel('Version of the model').selectOption('1');
  assert.equal(await model.getByLabel('Model file').inputValue(), '${packages.finder}/finder.onnx');
  const { packages } = JSON.parse(await textOf(page)) as { packages: unknown };
  assert.deepEqual(packages, [{ name: 'finder', package: `${orgId}/finder`, type: 'ml_model', version: '1' }]);
  assert.match((await model.getByRole('link', { name: /finder/ }).getAttribute('href')) ?? '', /^\/models/);
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await button(list, /vision · detector/).click();
  const vision = await open(page, 'vision-1');
  const names = vision.getByLabel('Model', { exact: true }).locator('option');
  assert.deepEqual(await names.allTextContents(), ['mlmodel-1']);
  await checkPage(page, `a model from the registry, ${width} px`);
  // It has no camera to read.
  await button(page, 'Remove vision-1').click();
}
