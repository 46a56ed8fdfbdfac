// The alerts and the exposition, as Prometheus itself reads them.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { tempFolder } from '@platform/kit/testing';
import { testServer } from './server.ts';

const rules = fileURLToPath(new URL('../../../deploy/prometheus/platform.rules.yml', import.meta.url));

function promtool(args: readonly string[], input = ''): string {
  const program = process.env['PLATFORM_TEST_PROMTOOL'];
  assert.ok(program, 'run it by npm run test:full');
  const { status, stdout, stderr } = spawnSync(program, args, { input, encoding: 'utf8' });
  assert.equal(status, 0, `${stdout}${stderr}`);
  return stdout;
}

/** Undefined: the series is absent. */
type Series = Readonly<Record<string, string | undefined>>;
const day = 86_400;
const fine: Series = {
  'up{job="platform"}': '1x1600',
  'platform_data_disk_bytes{job="platform",kind="free"}': '50x40',
  'platform_data_disk_bytes{job="platform",kind="size"}': '100x40',
  'platform_data_disk_inodes{job="platform",kind="free"}': '50x40',
  'platform_data_disk_inodes{job="platform",kind="size"}': '100x40',
  'platform_backup_disk_bytes{job="platform",kind="free"}': '50x200',
  'platform_backup_disk_bytes{job="platform",kind="size"}': '100x200',
  'platform_release_document_end_timestamp_seconds{job="platform",role="root"}': `${300 * day}x200`,
  'platform_release_document_end_timestamp_seconds{job="platform",role="targets"}': `${60 * day}x200`,
  'platform_release_document_end_timestamp_seconds{job="platform",role="snapshot"}': `${6 * day}x200`,
  'platform_release_document_end_timestamp_seconds{job="platform",role="timestamp"}': `${0.9 * day}x200`,
  'platform_notices{job="platform",kind="check"}': '0x200',
  'platform_notices{job="platform",kind="problem"}': '0x200',
  'platform_notices{job="platform",kind="notice"}': '0x200',
  'platform_machines{job="platform",state="offline"}': '1x40',
  'platform_machines{job="platform",state="online"}': '9x40',
  'platform_machines{job="platform",state="awaiting_setup"}': '90x40',
  'platform_database_connections{job="platform",state="waiting"}': '0x40',
  'platform_certificate_end_timestamp_seconds{job="platform"}': `${30 * day}x200`,
  'platform_oldest_pending_job_seconds{job="platform"}': '0x40',
  'platform_log_lines_total{job="platform",result="failed"}': '0x40',
  'nodejs_eventloop_lag_p99_seconds{job="platform"}': '0.02x40',
  'platform_backup_last_success_timestamp_seconds{job="platform"}': '0x200',
  'platform_request_duration_seconds_count{job="platform",method="other",status="200"}': '0+100x40',
  'platform_request_duration_seconds_count{job="platform",method="other",status="500"}': '0+1x40',
  'process_start_time_seconds{job="platform"}': '5x40',
};
/** What makes each alert fire. */
const causes: Readonly<Record<string, Series>> = {
  PlatformServerDown: { 'up{job="platform"}': '0x40' },
  PlatformDatabaseBusy: { 'platform_database_connections{job="platform",state="waiting"}': '9x40' },
  PlatformDiskFull: { 'platform_data_disk_bytes{job="platform",kind="free"}': '9x40' },
  PlatformInodesFull: { 'platform_data_disk_inodes{job="platform",kind="free"}': '9x40' },
  PlatformBackupDiskFull: { 'platform_backup_disk_bytes{job="platform",kind="free"}': '9x200' },
  PlatformReleaseDocumentEnds: {
    'platform_release_document_end_timestamp_seconds{job="platform",role="targets"}': `${13 * day}x200`,
  },
  PlatformReleaseTimestampOld: {
    'platform_release_document_end_timestamp_seconds{job="platform",role="timestamp"}': `${0.2 * day}x200`,
  },
  PlatformNotice: { 'platform_notices{job="platform",kind="notice"}': '1x200' },
  PlatformBackupNever: { 'platform_backup_last_success_timestamp_seconds{job="platform"}': undefined },
  PlatformCertificateEnds: { 'platform_certificate_end_timestamp_seconds{job="platform"}': `${10 * day}x200` },
  PlatformMachinesOffline: { 'platform_machines{job="platform",state="offline"}': '3x40' },
  PlatformJobsWait: { 'platform_oldest_pending_job_seconds{job="platform"}': '3601x40' },
  PlatformLogLinesLost: { 'platform_log_lines_total{job="platform",result="failed"}': '0+5x40' },
  PlatformBackupOld: { 'platform_backup_last_success_timestamp_seconds{job="platform"}': `${-4 * day}x200` },
  PlatformCallsFail: {
    'platform_request_duration_seconds_count{job="platform",method="other",status="500"}': '0+10x40',
  },
  PlatformRestarts: { 'process_start_time_seconds{job="platform"}': '0+1x40' },
  PlatformEventLoopBlocked: { 'nodejs_eventloop_lag_p99_seconds{job="platform"}': '0.6x40' },
};

/** Some alerts wait for longer. */
const evalTimes: Readonly<Record<string, string>> = {
  PlatformCertificateEnds: '90m',
  PlatformBackupOld: '90m',
  PlatformBackupDiskFull: '90m',
  PlatformReleaseDocumentEnds: '90m',
  PlatformNotice: '90m',
  PlatformBackupNever: '25h',
};

test('each alert fires for its cause, and none without one', async () => {
  await using folder = await tempFolder();
  assert.match(promtool(['check', 'rules', rules]), /17 rules found/);
  const fires = (alert: string, series: Series) => ({
    interval: '1m',
    input_series: Object.entries({ ...fine, ...series }).flatMap(([name, values]) =>
      values === undefined ? [] : [{ series: name, values }],
    ),
    promql_expr_test: Object.keys(causes).map((one) => ({
      expr: `count(ALERTS{alertname="${one}",alertstate="firing"}) or vector(0)`,
      eval_time: evalTimes[alert] ?? '35m',
      exp_samples: [{ labels: '{}', value: one === alert ? 1 : 0 }],
    })),
  });
  const tests = [fires('none', {}), ...Object.entries(causes).map(([alert, series]) => fires(alert, series))];
  const file = path.join(folder.path, 'alerts.json');
  await writeFile(file, JSON.stringify({ rule_files: [rules], evaluation_interval: '1m', tests }));
  promtool(['test', 'rules', file]);
});

const dashboardFile = fileURLToPath(new URL('../../../deploy/grafana/platform.json', import.meta.url));

/** Reads the dashboard as Grafana's own library does, and lists what it does not know. */
const readByGrafana = `
import json, sys
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard
register_default_plugins()
given = json.load(open(sys.argv[1]))
known = json.loads(json.dumps(Dashboard.from_json(given), cls=JSONEncoder))
def lost(a, b, path):
    if isinstance(a, dict):
        return [at for key in a for at in (lost(a[key], b[key], path + '.' + key) if isinstance(b, dict) and key in b else [path + '.' + key])]
    if isinstance(a, list):
        return [at for n, (x, y) in enumerate(zip(a, b)) for at in lost(x, y, path + '.' + str(n))] if isinstance(b, list) and len(a) == len(b) else [path]
    return [] if a == b else [path]
print(json.dumps(lost(given, known, '')))
`;

test('Grafana knows each field of the dashboard, and Prometheus each of its expressions', async () => {
  const python = process.env['PLATFORM_TEST_PYTHON'];
  assert.ok(python, 'run it by npm run test:full');
  const found = spawnSync(python, ['-c', readByGrafana, dashboardFile], { encoding: 'utf8' });
  assert.equal(found.status, 0, found.stderr);
  assert.deepEqual(JSON.parse(found.stdout), []);

  const { panels } = JSON.parse(await readFile(dashboardFile, 'utf8')) as {
    panels: { targets: { expr: string }[] }[];
  };
  const expressions = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr.replaceAll('$job', 'platform')));
  assert.ok(expressions.length > 15);
  await using folder = await tempFolder();
  const file = path.join(folder.path, 'expressions.json');
  const recorded = expressions.map((expr, n) => ({ record: `panel:${n}`, expr }));
  await writeFile(file, JSON.stringify({ groups: [{ name: 'dashboard', rules: recorded }] }));
  assert.match(promtool(['check', 'rules', file]), new RegExp(`${expressions.length} rules found`));
});

test('Prometheus reads the metrics, and finds no fault in their names and units', async () => {
  await using on = await testServer(['--metrics-port', '0']);
  await on.machine('press');
  const text = await (await fetch(on.server.metricsUrl ?? '')).text();
  // This command of promtool reads the format before OpenMetrics, in which a counter has its ending in its name, too.
  const own = text
    .replaceAll(/^(# \w+ platform_(?:log_lines|refused_calls)) /gm, '$1_total ')
    .split('\n')
    .filter((line) => /^(# \w+ )?platform_/.test(line))
    .join('\n');
  promtool(['check', 'metrics'], `${own}\n`);
});
