// Copied identities on machines with systemd: an overlay root, two machines from one tree, and an image of a used root.
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { build } from '../lab/builds.ts';
import { installed, isOnline, isOnlineSince, telling } from '../lab/installed.ts';
import { container, type Container } from '../lab/machine.ts';
import { keep, timed } from '../lab/results.ts';
import { type Site, startSite } from '../lab/site.ts';

const tree = 'opt/platform etc/platform.json etc/systemd/system usr/local/bin/platform-agent';

/** Everything below is at /opt/platform.lower on the disk; what the machine writes is in memory, as with overlayroot. */
const overlayRoot = `
systemctl stop platform-agent
mv /opt/platform /opt/platform.lower && mkdir /opt/platform
cat > /etc/systemd/system/opt-platform.mount << 'END'
[Unit]
Requires=overlay-folders.service
After=overlay-folders.service
[Mount]
What=overlay
Where=/opt/platform
Type=overlay
Options=lowerdir=/opt/platform.lower,upperdir=/run/overlay/up,workdir=/run/overlay/work
[Install]
WantedBy=multi-user.target
END
cat > /etc/systemd/system/overlay-folders.service << 'END'
[Unit]
DefaultDependencies=no
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/mkdir -p /run/overlay/up /run/overlay/work
END
mkdir -p /etc/systemd/system/platform-agent.service.d
printf '[Unit]\nRequires=opt-platform.mount\nAfter=opt-platform.mount\n' > /etc/systemd/system/platform-agent.service.d/overlay.conf
systemctl daemon-reload && systemctl enable opt-platform.mount && sync`;

const backOnDisk = `
systemctl stop platform-agent
systemctl disable --now opt-platform.mount
rm -r /etc/systemd/system/opt-platform.mount /etc/systemd/system/overlay-folders.service /etc/systemd/system/platform-agent.service.d
rmdir /opt/platform && mv /opt/platform.lower /opt/platform
systemctl daemon-reload`;

const conditionsOf = async (site: Site, partId: string): Promise<string[]> =>
  (await site.machine(partId)).conditions.map(({ code }) => code);

const starts = async (site: Site, partId: string): Promise<number> =>
  (await site.logs(partId)).filter((message) => message === 'platform agent started').length;

/** Copies the installation of one machine, which is stopped, to another one. */
async function copyTree(from: Container, to: Container): Promise<void> {
  await from.must(`tar -C / -cf /var/tmp/tree.tar ${tree}`, 300);
  await to.push('/var/tmp', path.join(from.root, 'var/tmp/tree.tar'));
  await to.must(
    'rm -rf /opt/platform /etc/platform.json && tar -C / -xf /var/tmp/tree.tar && rm /var/tmp/tree.tar',
    300,
  );
  await to.must('systemctl daemon-reload && systemctl enable platform-agent', 60);
}

const renamed = (machine: Container, hostname: string): Promise<string> =>
  machine.must(`hostnamectl set-hostname ${hostname} || (hostname ${hostname}; echo ${hostname} > /etc/hostname)`);

test('copied and restored roots', { timeout: 3_000_000 }, async (t) => {
  await using site = await startSite();
  await site.publish(await build('platform-server', '0.1.0'), 'stable');
  await site.publish(await build('platform-agent', '0.1.0'), 'stable');
  await using first = await container(site.port);
  await renamed(first, 'twin-a');
  const { partId } = await installed(site, first, 'golden');

  await t.test('an overlay root over three boots: one machine, and the lines of each start', () =>
    telling(first, async () => {
      await first.must(overlayRoot, 300);
      try {
        const before = await starts(site, partId);
        for (let boot = 1; boot <= 3; boot++) {
          const began = Date.now();
          await first.kill();
          await first.up();
          await site.until(partId, `online after boot ${boot}`, 300, isOnlineSince(began));
          assert.equal(await first.must('findmnt -no FSTYPE /opt/platform'), 'overlay');
          for (let n = 0; (await starts(site, partId)) < before + boot; n++) {
            assert.ok(n < 60, `${await starts(site, partId)} starts in LOGS, not ${before + boot}`);
            await first.exec('sleep 2');
          }
          assert.deepEqual(await conditionsOf(site, partId), []);
        }
      } finally {
        await first.must(backOnDisk, 300);
      }
    }),
  );

  await using second = await container(site.port);
  await renamed(second, 'twin-b');
  await t.test('two machines from one tree: noticed, and split by one command', () =>
    telling(second, async () => {
      await copyTree(first, second);
      const noticed = await timed(async () => {
        await first.must('systemctl start platform-agent', 120);
        await site.until(partId, 'the first one is online', 300, isOnline);
        await second.must('systemctl start platform-agent', 120);
        await site.until(partId, 'IDENTITY_SHARED', 600, ({ conditions }) =>
          conditions.some(({ code }) => code === 'IDENTITY_SHARED'),
        );
      });
      await keep('two machines with one identity are noticed', 'container', noticed.seconds);
      const [condition] = (await site.machine(partId)).conditions;
      assert.match(condition?.message ?? '', /twin-a \(.*\) and twin-b \(.*The status shown is that of twin-a/);
      const split = JSON.parse(await site.cli('machine', 'split', 'golden', '--name', 'copy', '--json')) as {
        part_id: string;
      };
      const isOn = (hostname: string) => (machine: Parameters<typeof isOnline>[0]) =>
        isOnline(machine) && machine.report?.hostname === hostname;
      await site.until(split.part_id, 'the second one is a machine', 300, isOn('twin-b'));
      await site.until(partId, 'the first one is as before', 300, isOn('twin-a'));
      await site.until(partId, 'the condition is gone', 120, ({ conditions }) => conditions.length === 0);
      assert.match(await second.must('cat /etc/platform.json'), new RegExp(split.part_id));
      // Both start again, as what they are now.
      for (const [machine, part, hostname] of [
        [first, partId, 'twin-a'],
        [second, split.part_id, 'twin-b'],
      ] as const) {
        await machine.must('systemctl restart platform-agent', 120);
        await site.until(part, `${hostname} is online again`, 300, isOn(hostname));
        assert.deepEqual(await conditionsOf(site, part), []);
      }
    }),
  );

  await t.test('an image of a used root: two machines from it by two codes', () =>
    telling(second, async () => {
      const refused = await second.exec('platform-agent prepare-image');
      assert.equal(refused.code, 4, refused.stderr);
      await second.must('systemctl stop platform-agent', 120);
      const report = await second.must('platform-agent prepare-image', 120);
      assert.match(report, /the credentials: \/etc\/platform\.json/);
      assert.equal((await second.exec('platform-agent prepare-image')).code, 5, 'a second time');
      await second.must('mkdir -p /etc && touch /etc/platform.json', 60); // the tree has a place for it
      await first.must('systemctl stop platform-agent', 120);
      await copyTree(second, first);
      for (const machine of [first, second]) await machine.must('rm -f /etc/platform.json');
      const made: string[] = [];
      for (const [machine, name] of [
        [first, 'image-1'],
        [second, 'image-2'],
      ] as const) {
        const { partId: part } = await site.createMachine(name);
        made.push(part);
        await machine.must('systemctl start platform-agent', 120);
        await machine.must(`platform-agent provision --code '${await site.setUpText(part)}'`, 120);
        await site.until(part, `${name} is online`, 300, isOnline);
      }
      for (const part of made) {
        assert.deepEqual(await conditionsOf(site, part), []);
        assert.equal(await starts(site, part), 1, 'the lines of this machine alone');
      }
    }),
  );
});
