import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';

/** docs/generated/agent.md: the commands from the program's own help, and the source of its status types. */
export function agentDocs(root: string): string {
  const main = path.join(root, 'apps/agent/src/main.ts');
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, 'help', '--markdown'], {
    encoding: 'utf8',
    env: {},
  });
  if (status !== 0) throw new Error(`platform-agent help --markdown ended with ${status}: ${stderr}`);
  const types = readFileSync(path.join(root, 'packages/contract/src/machine/agent-status.ts'), 'utf8');
  return [
    '# platform-agent: commands and status',
    '',
    'Generated from `apps/agent/src/commands` and `packages/contract/src/machine/agent-status.ts` by `npm run gen`. How to use them: [docs/agent.md](../agent.md).',
    '',
    stdout.trim(),
    '',
    '## Status',
    '',
    'What `platform-agent status --json` prints, `GET /status` on the control socket answers, and the other requests of that socket answer.',
    '',
    '```ts',
    types.trim(),
    '```',
    '',
  ].join('\n');
}
