// The management server and the agent on one host: each lives through the other's starts, upgrades and removal.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { signedArchive } from '../lab/container.ts';
import { eventually, serverName } from '../lab/machine.ts';
import { startServerHost } from '../lab/server-host.ts';

const unpacked = '/root/archive';

test('story: server and agent on one host', { timeout: 1_800_000 }, async (t) => {
  const archive = await signedArchive();
  await using host = await startServerHost();
  const { machine } = host;
  await machine.must(`echo '127.0.0.1 ${serverName}' >> /etc/hosts`);
  await machine.push('/root', ...archive.files);
  await machine.must(`mkdir ${unpacked} && tar -xzf /root/${archive.name} -C ${unpacked} --strip-components=1`, 300);
  const online = async (): Promise<void> =>
    eventually('the host is online', 180, async () => {
      const { stdout } = await machine.exec('platform machine show self --json');
      return /"online_state":"online"/.test(stdout) && /"server_state":"running"/.test(stdout) ? true : undefined;
    }).then(() => undefined);
  const ports = (): Promise<string> => machine.must("ss -Hltn | awk '{print $4}' | sort -u");

  await t.test('the server is installed, then the host is made its machine', async () => {
    await machine.must(
      `${unpacked}/platform admin install-service --tls-cert /root/cert.pem --tls-key /root/key.pem --public-url https://${serverName}`,
      600,
    );
    const made = await machine.must('platform machine create self -o /etc/platform.json --json');
    const { install_script_command: command } = JSON.parse(made) as { install_script_command: string };
    await machine.must(`${command} | sh`, 600);
    await online();
    const open = (await ports()).split('\n').filter((one) => !/^(127\.|\[::1\])/.test(one));
    assert.deepEqual(
      open.map((one) => one.replace(/^.*:/, '')),
      ['443'],
      'nothing else listens to other hosts',
    );
  });

  await t.test('all processes killed, started again', async () => {
    await machine.kill();
    await host.up();
    await online();
  });

  await t.test('the server restarts: the agent and its machine server keep running', async () => {
    const pids = 'systemctl show -P MainPID platform-agent; pgrep -f /opt/platform/versions/.*/platform-server';
    const before = await machine.must(pids);
    await machine.must('systemctl restart platform-management');
    await online();
    assert.equal(await machine.must(pids), before);
  });

  await t.test('the server is removed: the machine server keeps running; installed again: online', async () => {
    await machine.must('platform admin uninstall-service', 120);
    assert.equal(await machine.must('systemctl is-active platform-agent'), 'active');
    await machine.must('pgrep -f /opt/platform/versions/.*/platform-server');
    await machine.must(`${unpacked}/platform admin install-service`, 600);
    await online();
  });

  await t.test('the agent is removed: the server stays as it is', async () => {
    const files = 'find /opt/platform-management/current/ /etc/platform-management -printf "%p %m %u %T@\\n" | sort';
    const before = await machine.must(files);
    await machine.must('/opt/platform/bin/platform-agent uninstall --yes', 300);
    assert.equal(await machine.must(files), before);
    assert.equal(await machine.must('systemctl is-active platform-management'), 'active');
    assert.match(await machine.must('platform machine list'), /self .*uninstalled/);
    assert.equal((await machine.exec('pgrep -f /opt/platform/')).stdout, '');
  });
});
