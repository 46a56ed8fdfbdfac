import type { Command } from 'commander';
import { formatBytes } from '@platform/kit';
import { listText } from '../output.ts';
import type { Run } from '../run.ts';

export function usageCommand(program: Command, run: Run): void {
  program
    .command('usage')
    .description('show the storage that the organization uses, and its limit')
    .action(
      run(async ({ connection, output }) => {
        const open = await connection();
        const organizationId = await open.organizationId();
        const usage = await open.client.fleetClient.getUsage({ organizationId });
        output.json({
          organization_id: organizationId,
          used_bytes: Number(usage.usedBytes),
          limit_bytes: usage.limitBytes === 0n ? null : Number(usage.limitBytes),
          files: Number(usage.files),
          waiting_bytes: Number(usage.waitingBytes),
          arriving_bytes: Number(usage.arrivingBytes),
          images: Number(usage.images),
          readings: Number(usage.readings),
          datasets: Number(usage.datasets),
          machines: Number(usage.machines),
          jobs: Number(usage.jobs),
          package_versions: Number(usage.packageVersions),
          log_bytes: Number(usage.logBytes),
        });
        const limit = usage.limitBytes === 0n ? 'no limit' : `limit ${formatBytes(Number(usage.limitBytes))}`;
        output.text(
          listText([
            ['files', `${formatBytes(Number(usage.usedBytes))} in ${usage.files} (${limit})`],
            ['deleted files on the disk', formatBytes(Number(usage.waitingBytes))],
            ['uploads in progress', formatBytes(Number(usage.arrivingBytes))],
            ['images', String(usage.images)],
            ['readings', String(usage.readings)],
            ['datasets', String(usage.datasets)],
            ['machines', String(usage.machines)],
            ['training jobs', String(usage.jobs)],
            ['versions of models and scripts', String(usage.packageVersions)],
            ['log lines of machines', `${formatBytes(Number(usage.logBytes))}, measured every 10 minutes`],
          ]),
        );
      }),
    );
}
