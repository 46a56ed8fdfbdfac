// CONFIGURE as a form: every field of the specification is set, the text keeps what was typed, and problems stand at
// their fields.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hideSecrets } from '@platform/contract/config/placeholders';
import configSchema from '@platform/contract/gen/config.schema.json' with { type: 'json' };
import type { Locator, Page } from 'playwright-core';
import { clientOf, startCloud } from '../src/cloud-process.ts';
import { checkPage, openJson } from '../src/page-checks.ts';
import { atEachWidth } from '../src/page-widths.ts';
import { receivedConfig } from '../src/wire-callers.ts';

type Values = Readonly<Record<string, unknown>>;
interface Group {
  readonly title: string;
  readonly values: Values;
  /** Titles by key. */
  readonly schema: Readonly<
    Record<string, { title: string; enum?: readonly unknown[]; default?: unknown; beyondSpec?: boolean }>
  >;
}

const { properties: agent } = configSchema.properties.agent;

/** Every field of the specification, with a value that is not its default. */
const groups: Readonly<Record<string, Group>> = {
  network_configuration: {
    title: 'Network and hotspot',
    schema: agent.network_configuration.properties,
    values: {
      device_reboot_after_offline_minutes: 90,
      disable_captive_portal_redirect: true,
      fragment_id: 'hall',
      hotspot_interface: 'wlan1',
      hotspot_password: 'a long password',
      hotspot_prefix: 'press',
      manufacturer: 'Alpenhof',
      model: 'M 3',
      offline_before_starting_hotspot_minutes: 3,
      retry_connection_timeout_minutes: 11,
      turn_on_hotspot_if_wifi_has_no_internet: true,
      user_idle_minutes: 6,
      wifi_power_save: false,
    },
  },
  advanced_settings: {
    title: 'Advanced',
    schema: agent.advanced_settings.properties,
    values: {
      debug: true,
      disable_network_configuration: true,
      disable_system_configuration: true,
      disable_platform_server: true,
      platform_server_start_timeout_minutes: 12,
      wait_for_update_check: true,
    },
  },
  system_configuration: {
    title: 'System',
    schema: agent.system_configuration.properties,
    values: {
      logging_journald_runtime_max_use_megabytes: -1,
      logging_journald_system_max_use_megabytes: 256,
      os_auto_upgrade_type: 'security',
    },
  },
};
const network: Group = {
  title: 'Network 1',
  schema: agent.additional_networks.anyOf[0]?.items?.properties ?? {},
  values: {
    type: 'wired',
    interface: 'eth1',
    ssid: 'barn',
    psk: 'a long passkey',
    priority: -5,
    ipv4_address: '10.20.4.13/24',
    ipv4_gateway: '10.20.4.1',
    ipv4_dns: ['10.20.4.1', '10.20.4.2'],
    ipv4_route_metric: 50,
  },
};

const group = (page: Page, title: string) => page.getByRole('group', { name: title, exact: true });
const button = (at: Page | Locator, name: string | RegExp) => at.getByRole('button', { name });

async function openGroup(page: Page, title: string): Promise<Locator> {
  const found = group(page, title);
  const head = found.getByRole('button').first();
  if ((await head.getAttribute('aria-expanded')) === 'false') await head.click();
  return found;
}

async function fillGroup(page: Page, { title, values, schema }: Group): Promise<void> {
  const form = await openGroup(page, title);
  for (const [key, value] of Object.entries(values)) {
    const name = schema[key]?.title ?? key;
    const field = form.getByLabel(name, { exact: true });
    if (typeof value === 'boolean')
      await form
        .getByRole('radiogroup', { name, exact: true })
        .getByLabel(value ? 'On' : 'Off')
        .check();
    else if (Array.isArray(value)) {
      for (const [at, one] of value.entries()) {
        await button(form, `Add to ${name}`).click();
        await form.getByLabel(`${name} ${at + 1}`, { exact: true }).fill(String(one));
      }
    } else if (schema[key]?.enum) await field.selectOption(String(value));
    else await field.fill(String(value));
  }
}

async function chooseVersions(page: Page): Promise<void> {
  await page.getByLabel('Agent version', { exact: true }).selectOption('dev');
  await page
    .getByLabel('Machine server version', { exact: true })
    .selectOption({ label: 'Another version or address …' });
  const other = page.getByRole('dialog', { name: 'Machine server version' });
  await other.getByLabel('Version or address').fill('1.4.0');
  await button(other, 'Choose').click();
}

/** Typed by hand: numbers, order of keys and spaces that no program would write. */
const typed = `{
  "custom":   { "b": 1.0, "a": [1,2] },
  "agent": {
    "network_configuration": { "user_idle_minutes":5 }
  }
}
`;

test('the values below are of every field of the specification, and none is its default', () => {
  for (const { title, schema, values } of [...Object.values(groups), network]) {
    const specified = Object.keys(schema).filter((key) => schema[key]?.beyondSpec !== true);
    assert.deepEqual(Object.keys(values).toSorted(), specified.toSorted(), title);
    for (const [key, value] of Object.entries(values)) assert.notDeepEqual(value, schema[key]?.default, key);
  }
});

test('the form sets every field of the specification, and the text keeps what was typed', async (t) => {
  await using cloud = await startCloud();
  const { ready } = cloud;
  const client = clientOf(ready);
  await atEachWidth({ client, t }, async ({ width, signIn }) => {
    const name = `press ${width}`;
    const created = await client.fleetClient.createMachine({ organizationId: ready.org_id, name });
    const { machine, credentialsJson } = created;
    const partId = machine?.partId ?? '';
    await client.fleetClient.saveConfig({ partId, configJson: typed });
    const page = await signIn();
    await page.goto(`${ready.url}/machines/${machine?.id ?? ''}/configure`);
    await group(page, 'Network and hotspot').waitFor();
    await button(await openGroup(page, 'Additional networks'), 'Add a network').click();
    await chooseVersions(page);
    for (const one of [...Object.values(groups), network]) await fillGroup(page, one);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await checkPage(page, `form ${colorScheme}, ${width} px`);
    }
    await button(page, /^Review and save/).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText(/Saved as revision 2/).waitFor();
    const { configJson } = await client.fleetClient.getConfig({ partId });
    const written = {
      custom: { b: 1, a: [1, 2] },
      agent: {
        version_control: { agent: 'dev', 'platform-server': '1.4.0' },
        additional_networks: [network.values],
        ...Object.fromEntries(Object.entries(groups).map(([key, { values }]) => [key, values])),
      },
    };
    assert.deepEqual(JSON.parse(configJson), JSON.parse(hideSecrets(JSON.stringify(written))));
    assert.partialDeepStrictEqual(await receivedConfig(credentialsJson), written.agent, 'what the agent resolves');
    assert.ok(configJson.startsWith(typed.slice(0, typed.indexOf('"user_idle') + '"user_idle_minutes":'.length)));
  });
});

test('form and JSON are in step, and each problem stands at its field', async () => {
  await using cloud = await startCloud();
  const { ready } = cloud;
  const client = clientOf(ready);
  await atEachWidth({ client }, async ({ width, signIn }) => {
    const isNarrow = width < 1080;
    const show = async (side: 'Form' | 'JSON'): Promise<void> => {
      if (isNarrow) await page.getByRole('button', { name: side, exact: true }).click();
    };
    const name = `press ${width}`;
    const { machine } = await client.fleetClient.createMachine({ organizationId: ready.org_id, name });
    await client.fleetClient.saveConfig({ partId: machine?.partId ?? '', configJson: typed });
    const page = await signIn();
    await page.goto(`${ready.url}/machines/${machine?.id ?? ''}/configure`);
    const form = group(page, 'Network and hotspot');
    await show('JSON');
    const editor = await openJson(page);
    await show('Form');
    const textOf = async (): Promise<string> => (await editor.locator('.cm-line').allTextContents()).join('\n');
    const idle = form.getByLabel('User idle after', { exact: true });

    await idle.fill('0');
    await form.getByText('must be').first().waitFor();
    await page.getByRole('region', { name: 'Problems' }).getByText('user_idle_minutes').first().waitFor();
    await form.getByText('1 error').waitFor();
    await checkPage(page, `form with a problem, ${width} px`);
    await idle.fill('7 s');
    assert.match(await textOf(), /"user_idle_minutes":"7 s"/, 'nothing typed is lost');
    await idle.fill('7');
    assert.equal(await textOf(), typed.replace('":5', '":7'));

    // A default is a value of its own; without the key there is none, and the text is as before.
    await form.getByLabel('Hotspot prefix', { exact: true }).fill('platform-setup');
    assert.match(await textOf(), /"hotspot_prefix": *"platform-setup"/);
    await button(form, 'Use default of Hotspot prefix').click();
    assert.equal(await textOf(), typed.replace('":5', '":7'));
    const password = form.getByLabel('Hotspot password', { exact: true });
    assert.equal(await password.getAttribute('type'), 'password');
    await button(form, 'Show Hotspot password').click();
    assert.equal(await password.getAttribute('type'), 'text');

    // Half a text: the form shows the state before and takes no input.
    await show('JSON');
    await editor.click();
    await page.keyboard.press('ControlOrMeta+End');
    await page.keyboard.type('x');
    await show('Form');
    await page.getByText('The JSON is not valid').waitFor();
    assert.deepEqual([await idle.inputValue(), await idle.isDisabled()], ['7', true]);
    await checkPage(page, `form beside a text that is not JSON, ${width} px`);
    await show('JSON');
    await page.keyboard.press('ControlOrMeta+z');
    await show('Form');
    await page.getByText('Form and JSON are two views').waitFor();
    assert.equal(await idle.isDisabled(), false);

    // One history for both sides.
    await show('JSON');
    await editor.click();
    for (let at = 0; at < 30 && (await textOf()) !== typed; at++) await page.keyboard.press('ControlOrMeta+z');
    assert.equal(await textOf(), typed);
    await show('Form');
    assert.equal(await idle.inputValue(), '5');
  });
});

test('an empty machine opens with examples, and a camera is added and configured without JSON', async () => {
  await using cloud = await startCloud();
  const { ready } = cloud;
  const client = clientOf(ready);
  await atEachWidth({ client }, async ({ width, signIn }) => {
    const name = `press ${width}`;
    const { machine } = await client.fleetClient.createMachine({ organizationId: ready.org_id, name });
    const partId = machine?.partId ?? '';
    const page = await signIn();
    await page.goto(`${ready.url}/machines/${machine?.id ?? ''}/configure`);
    const examples = page.getByRole('region', { name: 'Examples' });
    await examples.waitFor();
    assert.equal(await examples.getByRole('button').count(), 3);
    await checkPage(page, `an empty machine, ${width} px`);
    await button(examples, /^Collect images/).click();
    await examples.waitFor({ state: 'detached' });

    await page.getByRole('button', { name: 'Add', exact: true }).click();
    const list = page.getByRole('dialog', { name: 'Add to the configuration' });
    await button(list, /^Your own/).waitFor();
    await checkPage(page, `what can be added, ${width} px`);
    // With those that platform-server is assumed to run: this machine has not reported yet.
    await list.getByText('What platform-server').waitFor();
    await button(list, /^Camera/)
      .first()
      .click();
    await list.waitFor({ state: 'detached' });
    const camera = group(page, 'camera-2');
    assert.equal(await camera.getByRole('button').first().getAttribute('aria-expanded'), 'true', 'it opens');
    await camera.getByLabel('Address', { exact: true }).fill('http://10.0.0.7/image.jpg');
    await page.getByText(/^Assumed: fields of platform-server/).waitFor();
    await checkPage(page, `components in the form, ${width} px`);
    await button(page, /^Review and save/).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText(/Saved as revision 1/).waitFor();
    const { configJson } = await client.fleetClient.getConfig({ partId });
    assert.deepEqual(JSON.parse(configJson), {
      components: [
        {
          name: 'camera-1',
          type: 'camera',
          model: 'folder',
          attributes: { path: '/var/images', interval_seconds: 1 },
        },
        { name: 'camera-2', type: 'camera', model: 'http', attributes: { url: 'http://10.0.0.7/image.jpg' } },
      ],
      services: [{ name: 'capture-1', type: 'data_manager', attributes: { camera: 'camera-1', every_seconds: 60 } }],
    });
  });
});
