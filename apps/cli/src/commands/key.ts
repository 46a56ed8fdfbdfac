import type { Command } from 'commander';
import { choiceOption } from '../choices.ts';
import { isoTime, noteTruncated, printable } from '../output.ts';
import type { Run } from '../run.ts';

const roles = { owner: 'owner', operator: 'operator', runner: 'runner', metrics: 'metrics' } as const;

export function keyCommands(program: Command, run: Run): void {
  const key = program.command('key').description('API keys of the organization');

  createCommand(key, run);
  listCommand(key, run);
  rotateCommand(key, run);
  deleteCommand(key, run);
  signInCommand(program, run);
}

function createCommand(key: Command, run: Run): void {
  key
    .command('create <name>')
    .description('create an API key and print its secret, which is shown only once')
    .addOption(choiceOption('--role <role>', 'role of the key', roles).default('owner'))
    .action(
      run(async ({ connection, output }, name: string, options: { role: string }) => {
        const { client, organizationId } = await connection();
        const organization = await organizationId();
        // Metrics are of the whole installation.
        const resourceType = options.role === 'metrics' ? 'installation' : 'organization';
        const created = await client.appClient.createKey({
          name,
          authorizations: [
            {
              authorizationType: 'role',
              authorizationId: `${resourceType}_${options.role}`,
              resourceType,
              resourceId: resourceType === 'organization' ? organization : '',
              organizationId: organization,
              identityId: '',
              identityType: 'api-key',
            },
          ],
        });
        output.secret();
        output.json({ api_key_id: created.id, api_key: created.key, name });
        output.text(
          `Created key ${printable(name)} with ID ${created.id}. The key is shown this once:\n\n  ${created.key}`,
        );
      }),
    );
}

function listCommand(key: Command, run: Run): void {
  key
    .command('list')
    .description('list API keys, without their secrets')
    .action(
      run(async ({ connection, output }) => {
        const { client, organizationId } = await connection();
        const { apiKeys, truncated } = await client.appClient.listKeys({ orgId: await organizationId() });
        const rows = apiKeys.map((one) => ({
          api_key_id: one.apiKey?.id ?? '',
          name: one.apiKey?.name ?? '',
          created_on: isoTime(one.apiKey?.createdOn),
          roles: one.authorizations.map((grant) => grant.authorizationId),
        }));
        output.json(rows);
        output.table(
          ['name', 'roles', 'created', 'id'],
          rows.map((row) => [row.name, row.roles.join(', '), row.created_on, row.api_key_id]),
        );
        noteTruncated(output, truncated, 'keys');
      }),
    );
}

function rotateCommand(key: Command, run: Run): void {
  key
    .command('rotate <id>')
    .description('replace the secret of an API key; the old one is invalid at once')
    .action(
      run(async ({ connection, output }, id: string) => {
        const { client } = await connection();
        const rotated = await client.appClient.rotateKey({ id });
        output.secret();
        output.json({ api_key_id: rotated.id, api_key: rotated.key });
        output.text(`Rotated key ${rotated.id}. The key is shown this once:\n\n  ${rotated.key}`);
      }),
    );
}

function deleteCommand(key: Command, run: Run): void {
  key
    .command('delete <id>')
    .description('revoke an API key at once')
    .action(
      run(async ({ connection, output }, id: string) => {
        const { client } = await connection();
        await client.appClient.deleteKey({ id });
        output.json({ api_key_id: id, deleted: true });
        output.text(`Deleted key ${id}.`);
      }),
    );
}

function signInCommand(program: Command, run: Run): void {
  program
    .command('sign-in')
    .description('print a one-time sign-in link for the web app')
    .action(
      run(async ({ connection, output }) => {
        const { client } = await connection();
        const link = await client.sessionClient.createSignInLink({});
        output.secret();
        output.json({ sign_in_url: link.url, expires_on: isoTime(link.expiresOn) });
        output.text(link.url);
      }),
    );
}
