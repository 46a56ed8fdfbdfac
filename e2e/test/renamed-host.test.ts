// A machine that is renamed while its agent runs: the new name is in its facts and in new log lines.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { canUnshare, caseMachine, inNamespace } from '../src/case-machine.ts';

test(
  'a renamed machine is shown with its new name within minutes',
  { skip: !canUnshare && 'no namespaces' },
  async () => {
    await using machine = await caseMachine();
    const { cloud, folder, partId } = machine;
    const flag = folder.file('rename');
    const script =
      'hostname old-name; (until [ -e "$0" ]; do sleep 0.3; done; hostname new-name) >/dev/null 2>&1 & exec "$@"';
    const agent = await machine.agent(folder.file('root'), {
      before: [...inNamespace('-u'), 'sh', '-c', script, flag],
    });
    try {
      await machine.until('the old name', async () => (await machine.shown()).hostname === 'old-name');
      await writeFile(flag, '');
      await machine.until('the new name', async () => (await machine.shown()).hostname === 'new-name');
    } finally {
      await agent.stop({ termMs: 60_000 });
    }
    const rows = await cloud.sql<{ host: string }>('select host from part_log where part_id = $1 order by id', [
      partId,
    ]);
    assert.deepEqual([rows[0]?.host, rows.at(-1)?.host], ['old-name', 'new-name']);
  },
);
