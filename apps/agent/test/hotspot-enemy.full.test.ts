// An enemy at the hotspot, with the kernel, nftables and dnsmasq of this host: a phone, a device that shares as
// NetworkManager does, and a host behind the device's cable, in network namespaces. Needs root.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { hotspotForwarding } from '../src/os/linux/networkmanager/hotspot-forwarding.ts';
import { namesText } from '../src/os/linux/networkmanager/hotspot.ts';

const suffix = `-${process.pid}`;
const [phone, device, lan] = ['phone', 'device', 'lan'].map((name) => `${name}${suffix}`) as [string, string, string];

function run(...command: string[]): { code: number; text: string } {
  const [program = '', ...args] = command;
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', timeout: 20_000 });
  return { code: status ?? -1, text: `${stdout}${stderr}` };
}
const inside = (space: string, ...command: string[]) => run('ip', 'netns', 'exec', space, ...command);
function must(...command: string[]): void {
  const { code, text } = run(...command);
  assert.equal(code, 0, `${command.join(' ')}: ${text}`);
}

/** The hotspot is `wlan0` of the device; NetworkManager has translated its addresses and turned on forwarding. */
function build(): void {
  for (const space of [phone, device, lan]) {
    must('ip', 'netns', 'add', space);
    must('ip', '-n', space, 'link', 'set', 'lo', 'up');
  }
  must('ip', '-n', device, 'link', 'add', 'wlan0', 'type', 'veth', 'peer', 'name', 'radio', 'netns', phone);
  must('ip', '-n', device, 'link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', 'cable', 'netns', lan);
  const addresses: [space: string, link: string, v4: string, v6: string][] = [
    [phone, 'radio', '10.42.0.7/24', 'fd42::7/64'],
    [device, 'wlan0', '10.42.0.1/24', 'fd42::1/64'],
    [device, 'eth0', '192.168.9.1/24', 'fd09::1/64'],
    [lan, 'cable', '192.168.9.2/24', 'fd09::2/64'],
  ];
  for (const [space, link, v4, v6] of addresses) {
    must('ip', '-n', space, 'addr', 'add', v4, 'dev', link);
    must('ip', '-n', space, 'addr', 'add', v6, 'dev', link, 'nodad');
    must('ip', '-n', space, 'link', 'set', link, 'up');
  }
  for (const [space, v4, v6] of [
    [phone, '10.42.0.1', 'fd42::1'],
    [lan, '192.168.9.1', 'fd09::1'],
  ] as const) {
    must('ip', '-n', space, 'route', 'add', 'default', 'via', v4);
    must('ip', '-n', space, '-6', 'route', 'add', 'default', 'via', v6);
  }
}

function share(): void {
  const on = 'echo 1 > /proc/sys/net/ipv4/ip_forward; echo 1 > /proc/sys/net/ipv6/conf/all/forwarding';
  assert.equal(inside(device, 'sh', '-c', on).code, 0);
  const chain = 'table ip nm-shared { chain f { type filter hook forward priority 0; policy accept; accept; }; }';
  assert.equal(inside(device, 'nft', chain).code, 0);
}

const reaches = (from: string, address: string): boolean =>
  inside(from, 'timeout', '1', 'bash', '-c', `exec 3<>/dev/tcp/${address}/80`).code === 0;

test('an enemy at the hotspot reaches no other network of the machine', async (t) => {
  await using folder = await tempFolder();
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => {
    for (const space of [phone, device, lan]) run('ip', 'netns', 'del', space);
  });
  build();
  for (const [space, bind] of [
    [lan, '::'],
    [phone, '::'],
  ] as const) {
    const server = spawn('ip', ['netns', 'exec', space, 'python3', '-m', 'http.server', '80', '--bind', bind], {
      stdio: 'ignore',
      cwd: folder.path,
    });
    cleanup.defer(() => void server.kill());
  }
  for (let n = 0; !(reaches(lan, '192.168.9.2') && reaches(phone, '10.42.0.7')); n++) {
    assert.ok(n < 100, 'the servers listen');
    await systemClock.sleep(100);
  }
  const programs = { run: async (...command: [string, ...string[]]) => inside(device, ...command) };
  // The settings of the kernel belong to a namespace: only the table is tried here, and then the setting alone.
  const forwarding = hotspotForwarding({ root: folder.path, programs, settings: folder.file('none') });
  const targets: [from: string, address: string][] = [
    [phone, '192.168.9.2'],
    [phone, 'fd09::2'],
    [lan, '10.42.0.7'],
    [lan, 'fd42::7'],
  ];
  const open = (): string[] =>
    targets.filter(([from, address]) => reaches(from, address)).map(([, address]) => address);

  share();
  // IPv6 needs some seconds until the kernel has proven its addresses and found its neighbours.
  for (let n = 0; n < 20 && open().length < targets.length; n++) await systemClock.sleep(250);
  assert.deepEqual(
    open(),
    targets.map(([, address]) => address),
    'what NetworkManager does alone',
  );
  assert.equal((await forwarding.block('wlan0')).problem, '');
  assert.deepEqual(open(), []);
  assert.deepEqual(await forwarding.check(), { problem: '', restored: [] }, 'nft lists what the agent expects');

  await t.test('another program flushes all rules, and they are put back', async () => {
    must('ip', 'netns', 'exec', device, 'nft', 'flush', 'ruleset');
    assert.equal(open().length, targets.length);
    assert.deepEqual((await forwarding.check()).restored, ['the table inet platform-hotspot of nftables']);
    assert.deepEqual(open(), []);
    assert.deepEqual(await forwarding.check(), { problem: '', restored: [] });
  });

  await t.test('nothing is left after the hotspot', async () => {
    await forwarding.release();
    assert.doesNotMatch(inside(device, 'nft', 'list', 'ruleset').text, /platform-hotspot/);
    assert.equal(open().length, targets.length);
  });

  await t.test('the setting of the interface alone keeps it from routing IPv4', () => {
    assert.equal(inside(device, 'sh', '-c', 'echo 0 > /proc/sys/net/ipv4/conf/wlan0/forwarding').code, 0);
    assert.equal(reaches(phone, '192.168.9.2'), false);
  });
});

const question = `
const { Resolver } = require('node:dns').promises;
const resolver = new Resolver({ timeout: 3000, tries: 1 });
resolver.setServers(['10.42.0.1']);
const answerTo = async (name, type) => [name, type, await resolver.resolve(name, type).then(String, (e) => e.code)].join(' ');
const types = ['A', 'AAAA', 'TXT', 'MX', 'SRV', 'CAA', 'NS'];
Promise.all(['phone.example', 'device.setup'].flatMap((name) => types.map((type) => answerTo(name, type)))).then((all) =>
  process.stdout.write(JSON.stringify(all)));
`;

for (const [isRedirecting, others] of [
  [true, ['10.42.0.1', 'ENODATA']],
  [false, ['ENOTFOUND', 'ENOTFOUND']],
] as const) {
  test(`dnsmasq answers every type at once and asks no other server, ${isRedirecting ? 'with' : 'without'} redirect`, async () => {
    await using folder = await tempFolder();
    await using cleanup = new AsyncDisposableStack();
    const space = `names${suffix}`;
    must('ip', 'netns', 'add', space);
    cleanup.defer(() => void run('ip', 'netns', 'del', space));
    must('ip', '-n', space, 'link', 'set', 'lo', 'up');
    for (const address of ['10.42.0.1/32', '10.42.9.9/32'])
      must('ip', '-n', space, 'addr', 'add', address, 'dev', 'lo');
    const of = { interface: 'wlan0', ssid: 'box', password: 'platformsetup', band: '', isSharing: false } as const;
    writeFileSync(folder.file('names.conf'), namesText({ ...of, isRedirecting }, '10.42.0.1'));
    // An upstream server that swallows every question: one that is passed on takes until the client gives up.
    writeFileSync(folder.file('upstream'), 'nameserver 10.42.9.9\n');
    const swallow = 'import socket,time; s=socket.socket(2,2); s.bind(("10.42.9.9",53)); time.sleep(60)';
    const upstream = spawn('ip', ['netns', 'exec', space, 'python3', '-c', swallow], { stdio: 'ignore' });
    cleanup.defer(() => void upstream.kill());
    // As NetworkManager starts it.
    const options = [
      '--conf-file=/dev/null',
      '--no-hosts',
      '--keep-in-foreground',
      '--bind-interfaces',
      '--strict-order',
    ];
    const own = [`--resolv-file=${folder.file('upstream')}`, `--conf-dir=${folder.path},*.conf`, '--user=root'];
    const all = [...options, ...own, '--listen-address=10.42.0.1', `--pid-file=${folder.file('pid')}`];
    const server = spawn('ip', ['netns', 'exec', space, 'dnsmasq', ...all], { stdio: 'ignore' });
    cleanup.defer(() => void server.kill());
    const listening = 'import socket; s=socket.create_connection(("10.42.0.1",53),1)';
    for (let n = 0; inside(space, 'python3', '-c', listening).code !== 0; n++) {
      assert.ok(n < 100, 'dnsmasq listens');
      await systemClock.sleep(100);
    }
    const { text } = inside(space, process.execPath, '-e', question);
    const types = ['A', 'AAAA', 'TXT', 'MX', 'SRV', 'CAA', 'NS'];
    const row = (name: string, [a, rest]: readonly [string, string]): string[] =>
      types.map((type) => `${name} ${type} ${type === 'A' ? a : rest}`);
    assert.deepEqual(JSON.parse(text), [
      ...row('phone.example', others),
      ...row('device.setup', ['10.42.0.1', 'ENODATA']),
    ]);
  });
}
