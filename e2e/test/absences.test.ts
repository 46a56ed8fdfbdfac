// When a machine was away is a fact of the server: over an agent that is killed, a server that is killed meanwhile, and
// samples that come later. Server, database and agent are real processes; the clock of the server is driven.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { OnlineState } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { Absence, EventKind } from '@platform/contract/gen/platform/timeline/v1/timeline_pb';
import { plainEnvironment, type ProcessGroup, spawnGroup, systemClock } from '@platform/kit/node';
import { clientOf } from '../src/cloud-process.ts';
import { FleetLab } from '../src/fleet-lab.ts';
import { JobLab } from '../src/job-lab.ts';
import { checkPage } from '../src/page-checks.ts';
import { atEachWidth } from '../src/page-widths.ts';
import { stayOnline } from '../src/stay-online.ts';
import { checkout, runCli } from '../src/up-process.ts';
import { wireMachine } from '../src/wire-callers.ts';

const minute = 60_000;
/** The server measures in between, so that this is not taken for an outage of its own. */
const stepMs = 2 * minute;

/** A machine with a real agent that can be killed. */
async function machineIn(lab: JobLab, name: string) {
  const { fleetClient, timelineClient } = clientOf(lab.ready);
  const made = await fleetClient.createMachine({ organizationId: lab.ready.org_id, name });
  const { id = '', partId = '' } = made.machine ?? {};
  const credentials = lab.folder.file(`${name}.json`);
  await writeFile(credentials, made.credentialsJson, { mode: 0o600 });
  const main = path.join(checkout, 'apps/agent/src/main.ts');
  const args = ['--disable-warning=ExperimentalWarning', main, 'run', '--root', lab.folder.file(name)];
  const state: { agent?: ProcessGroup } = {};
  const isOnline = async () => (await fleetClient.getMachine({ id })).machine?.onlineState === OnlineState.ONLINE;
  return {
    name,
    id,
    async start() {
      state.agent = await spawnGroup({
        command: process.execPath,
        args: [...args, '--config', credentials],
        env: plainEnvironment(),
        logFile: lab.folder.file(`${name}.log`),
      });
      await lab.until(`${name} is online`, isOnline);
    },
    untilOnline: () => lab.until(`${name} is online`, isOnline),
    async kill() {
      state.agent?.signal('SIGKILL');
      await state.agent?.exited;
    },
    /** Absences, newest first, with their whole minutes. */
    async absences() {
      const { events } = await timelineClient.listMachineEvents({ partId, kinds: [EventKind.ABSENCE] });
      return events.map(({ absence, time, until, detail }) => ({
        absence,
        detail,
        minutes: until && time ? Math.floor((timestampMs(until) - timestampMs(time)) / minute) : undefined,
      }));
    },
    credentials: made.credentialsJson,
    [Symbol.asyncDispose]: async () => void (await state.agent?.stop({ termMs: 20_000 })),
  };
}

/** When the server stored last that it listens, by its clock. */
async function watchedUntil(lab: JobLab): Promise<number> {
  const [row] = await lab.sql<{ until: Date }>('select max(ended_on) as until from watched_time');
  return row?.until.getTime() ?? 0;
}

/** Lets this time pass, while the server measures. */
async function pass(lab: JobLab, minutes: number): Promise<void> {
  for (let left = minutes * minute; left > 0; left -= stepMs) {
    const before = await watchedUntil(lab);
    await lab.advance(Math.min(left, stepMs), stepMs);
    const next = before + Math.min(left, stepMs) - 15_000;
    await lab.until('the server measures', async () => (await watchedUntil(lab)) >= next);
  }
}

/** Kills the server, and starts it half an hour later. */
async function outage(lab: JobLab): Promise<void> {
  const before = await watchedUntil(lab);
  await lab.restartAfter(30 * minute);
  await lab.until('the server measures', async () => (await watchedUntil(lab)) > before);
}

test('a machine was away when its agent was killed, and not when the server was', { timeout: 240_000 }, async (t) => {
  await using lab = await JobLab.open();
  await using press = await machineIn(lab, 'press');
  const pump = await machineIn(lab, 'pump');
  const relay = await wireMachine(pump.credentials);
  await press.start();
  await relay.check({});
  const settled = (of: typeof press, count: number) =>
    lab.until(`${of.name} has ${count} absences with an end`, async () => {
      const found = await of.absences();
      return found.length === count && found.every(({ minutes }) => minutes !== undefined);
    });

  await press.kill();
  await pass(lab, 12);
  await press.start();
  // It has measured meanwhile, so its samples have no gap.
  const start = BigInt(Math.floor((await watchedUntil(lab)) / 1000) - 13 * 60);
  const samples = Array.from({ length: 14 }, (_, n) => ({ seconds: n * 60, processorPermille: 100 }));
  await relay.check({}, { spoolId: 'a', firstSequence: 1n, start, samples });
  await settled(press, 1);
  await settled(pump, 1);
  const [first] = await press.absences();
  assert.equal(first?.absence, Absence.OFFLINE);
  assert.ok(first.minutes! >= 12 && first.minutes! <= 14, `${first.minutes} min`);
  assert.equal(first.detail, '');
  assert.deepEqual(
    (await pump.absences()).map(({ absence, detail }) => [absence, detail]),
    [[Absence.OFFLINE, 'It ran without contact: its samples of this time came later.']],
  );

  await t.test('the server is killed while the machine is away: what it did not see is not known', async () => {
    await press.kill();
    await pass(lab, 8);
    await outage(lab);
    await pass(lab, 8);
    await press.start();
    await settled(press, 4);
    const found = (await press.absences()).slice(0, 3);
    assert.deepEqual(
      found.map(({ absence }) => absence),
      [Absence.OFFLINE, Absence.NOT_KNOWN, Absence.OFFLINE],
    );
    const [after, unknown, before] = found.map(({ minutes = 0 }) => minutes);
    for (const one of [after!, before!]) assert.ok(one >= 7 && one <= 10, `${one} min`);
    assert.ok(unknown! >= 29 && unknown! <= 32, `${unknown} min`);
  });

  await t.test('the server is killed while the machine runs: it was not away', async () => {
    await outage(lab);
    await press.untilOnline();
    await pass(lab, 4);
    await press.untilOnline();
    const found = await press.absences();
    assert.deepEqual(
      found.map(({ absence }) => absence),
      [Absence.NOT_KNOWN, Absence.OFFLINE, Absence.NOT_KNOWN, Absence.OFFLINE, Absence.OFFLINE],
    );
  });

  await t.test('the command line lists the same', async () => {
    const { url, api_key_id, api_key } = lab.ready;
    const env = { PLATFORM_URL: url, PLATFORM_API_KEY_ID: api_key_id, PLATFORM_API_KEY: api_key };
    const listed = await runCli(env, 'machine', 'events', 'press', '--kind', 'absence', '-n', '2', '--json');
    const rows = JSON.parse(listed.stdout) as Record<string, unknown>[];
    assert.deepEqual(
      rows.map(({ kind, absence, text }) => [kind, absence, text]),
      [
        ['absence', 'not_known', 'Not known whether it was online'],
        ['absence', 'offline', 'Offline'],
      ],
    );
    assert.match(String(rows[0]?.['until']), /^\d{4}-.*Z$/);
    const { stdout } = await runCli(env, 'machine', 'events', 'pump', '--kind', 'absence');
    assert.match(stdout, /TIME +UNTIL +KIND +WHAT/);
    assert.match(stdout, /\(1[234] min\) +absence +Offline: It ran without contact/);
  });
});

test('the page of a machine has both times of an absence, and bands on its charts', async () => {
  await using lab = await FleetLab.open();
  const { ready } = lab;
  const client = clientOf(ready);
  const made = await client.fleetClient.createMachine({ organizationId: ready.org_id, name: 'pump' });
  const { id = '' } = made.machine ?? {};
  const machine = await wireMachine(made.credentialsJson);
  const count = 180;
  const start = BigInt(Math.floor(systemClock.wall() / 1000) - count * 60);
  const samples = Array.from({ length: count }, (_, n) => ({ seconds: n * 60, processorPermille: 300 + n }));
  await machine.check({}, { spoolId: 'a', firstSequence: 1n, start, samples });
  while ((await lab.sql('select from watched_time')).length === 0) await systemClock.sleep(100);
  await lab.sql(`update machine set created_on = now() - interval '3 hours'`);
  await lab.sql(`update watched_time set began_on = now() - interval '70 minutes'`);
  await lab.sql(`insert into watched_time (id, began_on, ended_on)
    values (gen_random_uuid(), now() - interval '3 hours', now() - interval '90 minutes')`);
  await lab.sql(
    `insert into condition_record (id, org_id, subject, subject_id, subject_name, machine_id, code, place, severity,
       message, remedy, began_on, ended_on)
     values (gen_random_uuid(), $1, 'machine', $2::uuid::text, 'pump', $2::uuid, 'MACHINE_OFFLINE', '', 3, '', '',
       now() - interval '60 minutes', now() - interval '31 minutes')`,
    [ready.org_id, id],
  );
  await using _online = stayOnline(machine);
  await atEachWidth({ client, widths: [1280] }, async ({ signIn }) => {
    const page = await signIn();
    await page.goto(`${ready.url}/machines/${id}/overview`);
    const line = page.getByRole('region', { name: 'Time line' });
    await line.getByText(/^Offline \d\d:\d\d – (today )?\d\d:\d\d \(29 min\)$/).waitFor();
    await line.getByText('It ran without contact: its samples of this time came later.').waitFor();
    await line.getByText(/^Not known whether it was online \d\d:\d\d – (today )?\d\d:\d\d \(20 min\)$/).waitFor();
    await page.getByRole('img', { name: /^Processor .*offline 29 min, not known 20 min/ }).waitFor();
    await checkPage(page, 'absences of a machine');
  });
});
