import { createHash } from 'node:crypto';
import type { Runner } from '@platform/contract/gen/platform/runner/v1/runner_pb';
import { systemClock } from '@platform/kit/node';
import type { Command } from 'commander';
import { ago, isoTime, noteTruncated, printable } from '../output.ts';
import type { Connection } from '../connection.ts';
import type { Run } from '../run.ts';

const runnerJson = (one: Runner): Record<string, unknown> => ({
  runner_id: one.runnerId,
  online: one.online,
  host: one.host,
  version: one.version,
  executor: one.executor,
  kinds: one.kinds,
  gpus: one.gpus,
  containers: one.containers.map(({ key, uri, framework, description, eol }) => ({
    key,
    uri,
    framework,
    description,
    eol: isoTime(eol),
  })),
  no_scripts_because: one.noScriptsBecause,
  last_seen: isoTime(one.lastSeen),
  job_id: one.jobId,
});

export function runnerCommands(program: Command, run: Run): void {
  const runner = program.command('runner').description('hosts that run training jobs');

  listCommand(runner, run);
  tokenCommand(runner, run);
}

function listCommand(runner: Command, run: Run): void {
  runner
    .command('list')
    .description('list runners with their capabilities, most recently seen first')
    .action(
      run(async ({ connection, output }) => {
        const open = await connection();
        const { runners, truncated } = await open.client.runnerClient.listRunners({
          organizationId: await open.organizationId(),
        });
        output.json(runners.map(runnerJson));
        if (runners.length === 0)
          return output.text('No runner has asked for work yet. Join one: platform runner token');
        output.table(
          ['host', 'state', 'seen', 'engine', 'gpus', 'scripts', 'job', 'version', 'id'],
          runners.map((one) => [
            one.host,
            one.online ? (one.jobId ? 'busy' : 'free') : 'offline',
            ago(one.lastSeen, systemClock.wall()),
            one.executor,
            String(one.gpus),
            one.kinds.includes('custom') ? one.containers.map(({ key }) => key).join(', ') : 'no',
            one.jobId,
            one.version,
            one.runnerId,
          ]),
        );
        noteTruncated(output, truncated, 'runners');
        for (const one of runners)
          if (one.noScriptsBecause)
            output.text(`\n${printable(one.host)} runs no scripts: ${printable(one.noScriptsBecause)}`);
      }),
    );
}

function tokenCommand(runner: Command, run: Run): void {
  runner
    .command('token')
    .description('create an API key with the role runner and print the command that starts a runner with it')
    .option('--name <name>', 'name of the key', 'runner')
    .action(
      run(async ({ connection, output }, flags: { name: string }) => {
        const open = await connection();
        const organization = await open.organizationId();
        const { id, key } = await open.client.appClient.createKey({
          name: flags.name,
          authorizations: [
            {
              authorizationType: 'role',
              authorizationId: 'organization_runner',
              resourceType: 'organization',
              resourceId: organization,
              organizationId: organization,
              identityId: '',
              identityType: 'api-key',
            },
          ],
        });
        const authority = await ownAuthority(open);
        const command = joinCommand({ url: open.url, id, key, authority });
        output.secret();
        output.json({ api_key_id: id, api_key: key, url: open.url, command });
        output.text('On the host that trains, in a checkout of this repository (Linux):\n');
        output.text(`  ${command}\n`);
        output.text(
          'The key is shown this once. It lets that host take training jobs and read their images, nothing else.',
        );
        if (/^https?:\/\/(localhost|127\.|\[::1\])/.test(open.url))
          output.note(
            `\n${open.url} is reached from this host only. For others, start the server with --host and a certificate.`,
          );
      }),
    );
}

/** The key is in the environment, so that it does not appear in process lists. */
function joinCommand(of: { url: string; id: string; key: string; authority: string | undefined }): string {
  const { url, id, key, authority } = of;
  const join = `PLATFORM_RUNNER_TOKEN=${id}:${key} npm run runner -- --url ${url}`;
  if (authority === undefined) return join;
  // Downloads the CA certificate unverified, and continues only if its hash matches.
  const fetched = `curl -fsSk -o authority.pem ${url}/authority.pem && echo "${authority}  authority.pem" | sha256sum -c -`;
  return `${fetched} && NODE_EXTRA_CA_CERTS=$PWD/authority.pem ${join}`;
}

/** SHA-256 of the CA certificate that other hosts need for this server; undefined if their system CAs suffice. */
async function ownAuthority({ client, url }: Connection): Promise<string | undefined> {
  if (!url.startsWith('https:')) return undefined;
  const answer = await fetch(`${client.url}/authority.pem`);
  return answer.ok
    ? createHash('sha256')
        .update(await answer.bytes())
        .digest('hex')
    : undefined;
}
