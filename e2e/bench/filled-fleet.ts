// A seeded fleet in the database of a lab: what its machines report, and the lines of one of them. Every run has the same.
import { systemClock } from '@platform/kit/node';
import type { FleetLab } from '../src/fleet-lab.ts';

/** What machines of a fleet report: few versions and models, a condition on one of twelve, tags on two of three. */
const filling = `
  with numbered as (
    select part.id, machine_id, (row_number() over (order by part.id))::int as n from part where is_main)
  , tagged as (
    update machine set tags = case n % 3 when 0 then '{}' when 1 then '{barn,north}' else '{field}' end::text[]
      from numbered where machine.id = numbered.machine_id)
  update part set
    last_seen = case when n % 10 = 0 then now() - make_interval(hours => n % 500) else part.last_seen end,
    facts = jsonb_strip_nulls(jsonb_build_object(
      'hostname', 'pi-' || n, 'platform', 'linux/arm64', 'os', 'debian:12', 'model', 'Raspberry Pi ' || (3 + n % 3),
      'kernel', '6.1.' || n % 5, 'architecture', 'aarch64', 'distribution', 'Debian 12',
      'agent_version', '0.' || n % 3 || '.0', 'server_version', '1.' || n % 5 || '.' || n % 7,
      'disk_size', 32000000000, 'disk_free', (n::bigint * 7919) % 32000000000, 'memory', 4000000000,
      'temperature', 40 + n % 40, 'reboot_needed', n % 9 = 0,
      'condition', case when n % 12 = 0 then 'DISK_FULL: The disk at / has 0.6 GB free of 32 GB.' end))
    from numbered where numbered.id = part.id`;

export async function fillReports(lab: FleetLab): Promise<void> {
  await lab.sql(filling);
  await lab.sql('vacuum analyze');
}

export interface MachineQuery {
  what: string;
  query: string;
  sort: string;
}
/** A query of each kind. */
export const machineQueries: readonly MachineQuery[] = (
  [
    ['all, by name', '', ''],
    ['all, by state', '', 'state'],
    ['all, by free disk', '', '-disk_free'],
    ['a word', 'pi-77', ''],
    ['a word that nothing has', 'nowhere', ''],
    ['a tag', 'tag:barn', ''],
    ['state and version', 'state:offline server<1.2', ''],
    ['condition and disk', 'condition:disk disk_free<2GB', ''],
    ['time since the contact, negated place', 'seen>7d -location:"Hof Lindau"', 'seen'],
    ['eight words', 'pi -north agent>=0.1 os~debian model~pi memory>1GB temperature>50 kernel~6', '-temperature'],
  ] as const
).map(([what, query, sort]) => ({ what, query, sort }));

const dayMs = 24 * 3_600_000;
const days = 3;

/** Creates the partitions of the last days and of today, which lines that arrive have. */
async function createLogDays(lab: FleetLab): Promise<void> {
  for (let ago = 0; ago <= days; ago += 1) {
    const at = (offset: number): string =>
      new Date(systemClock.wall() - (ago - offset) * dayMs).toISOString().slice(0, 10);
    const table = `part_log_${at(0).replaceAll('-', '')}`;
    await lab.sql(
      `create table if not exists ${table} partition of part_log for values from ('${at(0)}') to ('${at(1)}')`,
    );
  }
}

/**
 * Lines of a machine over three days up to now: six loggers, three starts of the agent, an error in 400, a field; the
 * words "no such device" stand in one of 100,000 and at the first line.
 */
export async function fillLines(lab: FleetLab, partId: string, lines: number): Promise<void> {
  await createLogDays(lab);
  const spanMs = days * dayMs;
  await lab.sql(
    `insert into part_log (org_id, part_id, day, boot_id, sequence, time, level, host, logger_name, message, rest)
     select $1, $2, (at at time zone 'UTC')::date, 'b' || (n * 3 / $3), n, at,
       case when n % 400 = 0 then 'error' when n % 40 = 0 then 'warn' when n % 3 = 0 then 'debug' else 'info' end,
       'pi-1', 'platform-server.camera-' || n % 6,
       case when n % 100000 = 1 then 'open /dev/video0: no such device'
            else 'frame ' || n || ' of the camera at the gate was looked at in ' || n % 97 || ' ms, nothing was found in it' end,
       jsonb_build_object('fields', jsonb_build_array(jsonb_build_object('camera', 'gate-' || n % 50)))
     from (select n, now() - make_interval(secs => $4 * ($3 - n) / $3) as at from generate_series(1, $3::bigint) n) line`,
    [lab.ready.org_id, partId, lines, spanMs / 1_000],
  );
  await lab.sql('vacuum analyze part_log');
}
