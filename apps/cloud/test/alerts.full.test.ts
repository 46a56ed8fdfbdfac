// The alerts and the exposition, as Prometheus itself reads them.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
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

type Series = Readonly<Record<string, string>>;
const day = 86_400;
const fine: Series = {
  'up{job="platform"}': '1x40',
  'platform_data_disk_bytes{job="platform",kind="free"}': '50x40',
  'platform_data_disk_bytes{job="platform",kind="size"}': '100x40',
  'platform_machines{job="platform",state="offline"}': '1x40',
  'platform_machines{job="platform",state="online"}': '9x40',
  'platform_machines{job="platform",state="awaiting_setup"}': '90x40',
  'platform_database_connections{job="platform",state="waiting"}': '0x40',
  'platform_certificate_end_timestamp_seconds{job="platform"}': `${30 * day}x200`,
  'platform_oldest_pending_job_seconds{job="platform"}': '0x40',
  'platform_log_lines_total{job="platform",result="failed"}': '0x40',
  'nodejs_eventloop_lag_p99_seconds{job="platform"}': '0.02x40',
  'platform_backup_last_success_timestamp_seconds{job="platform"}': '0x200',
};
/** What makes each alert fire. */
const causes: Readonly<Record<string, Series>> = {
  PlatformServerDown: { 'up{job="platform"}': '0x40' },
  PlatformDatabaseBusy: { 'platform_database_connections{job="platform",state="waiting"}': '9x40' },
  PlatformDiskFull: { 'platform_data_disk_bytes{job="platform",kind="free"}': '9x40' },
  PlatformCertificateEnds: { 'platform_certificate_end_timestamp_seconds{job="platform"}': `${10 * day}x200` },
  PlatformMachinesOffline: { 'platform_machines{job="platform",state="offline"}': '3x40' },
  PlatformJobsWait: { 'platform_oldest_pending_job_seconds{job="platform"}': '3601x40' },
  PlatformLogLinesLost: { 'platform_log_lines_total{job="platform",result="failed"}': '0+5x40' },
  PlatformBackupOld: { 'platform_backup_last_success_timestamp_seconds{job="platform"}': `${-4 * day}x200` },
  PlatformEventLoopBlocked: { 'nodejs_eventloop_lag_p99_seconds{job="platform"}': '0.6x40' },
};

test('each alert fires for its cause, and none without one', async () => {
  await using folder = await tempFolder();
  assert.match(promtool(['check', 'rules', rules]), /9 rules found/);
  const fires = (alert: string, series: Series) => ({
    interval: '1m',
    input_series: Object.entries({ ...fine, ...series }).map(([name, values]) => ({ series: name, values })),
    promql_expr_test: Object.keys(causes).map((one) => ({
      expr: `count(ALERTS{alertname="${one}",alertstate="firing"}) or vector(0)`,
      // These alerts wait for an hour.
      eval_time: ['PlatformCertificateEnds', 'PlatformBackupOld'].includes(alert) ? '90m' : '35m',
      exp_samples: [{ labels: '{}', value: one === alert ? 1 : 0 }],
    })),
  });
  const tests = [fires('none', {}), ...Object.entries(causes).map(([alert, series]) => fires(alert, series))];
  const file = path.join(folder.path, 'alerts.json');
  await writeFile(file, JSON.stringify({ rule_files: [rules], evaluation_interval: '1m', tests }));
  promtool(['test', 'rules', file]);
});

test('Prometheus reads the metrics, and finds no fault in their names and units', async () => {
  await using on = await testServer(['--metrics-port', '0']);
  await on.machine('press');
  const text = await (await fetch(on.server.metricsUrl ?? '')).text();
  const own = text
    .split('\n')
    .filter((line) => /^(# \w+ )?platform_/.test(line))
    .join('\n');
  promtool(['check', 'metrics'], `${own}\n`);
});
