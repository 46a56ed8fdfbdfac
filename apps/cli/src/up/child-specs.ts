import path from 'node:path';
import { checkout } from '../data-folder.ts';
import type { ChildSpec } from './children.ts';
import type { MachineFolder } from './folders.ts';
import type { UpOptions } from './options.ts';
import type { Cloud } from './summary.ts';

const app = (name: string): string => path.join(checkout, 'apps', name, 'src', 'main.ts');
/** The part of the environment that a child needs; PLATFORM_… options are for this program only. */
const plainEnv = (): Record<string, string | undefined> =>
  Object.fromEntries(
    Object.entries(process.env).filter(([key]) => !key.startsWith('PLATFORM_') && !key.startsWith('npm_')),
  );

export function cloudSpec(options: UpOptions, web: string): ChildSpec {
  const given = {
    '--tls-cert': options.tlsCert,
    '--tls-key': options.tlsKey,
    '--tls-authority': options.tlsAuthority,
    '--tls-known-authority': options.tlsKnownAuthority,
    '--public-url': options.publicUrl,
    '--trusted-proxy': options.trustedProxy,
    '--metrics-port': options.metricsPort?.toString(),
    '--backup-dir': options.backupDir && path.resolve(options.backupDir),
    '--backup-every-hours': options.backupEveryHours?.toString(),
    '--backup-keep': options.backupKeep?.toString(),
  };
  const args = [
    '--data-dir',
    path.join(options.dataDir, 'cloud'),
    '--host',
    options.host,
    '--port',
    String(options.port),
    '--web-dir',
    web,
    ...Object.entries(given).flatMap(([flag, value]) => (value === undefined ? [] : [flag, value])),
    ...(options.allowPlaintext ? ['--allow-plaintext'] : []),
  ];
  const { DATABASE_URL } = process.env;
  return {
    name: 'cloud',
    command: process.execPath,
    args: [
      app('cloud'),
      ...args,
      ...(options.newKeys ? ['--new-keys'] : []),
      ...(options.acceptCopy ? ['--accept-copy'] : []),
      '--json',
    ],
    env: { ...plainEnv(), DATABASE_URL, PLATFORM_BACKUP_PASSPHRASE: options.backupPassphrase?.reveal() },
    termMs: 15_000,
  };
}

/** Replaces port 0 by the chosen port: a restarted server keeps the port that machines and pages use, and its keys. */
export function keepPort(spec: ChildSpec, readyLine: string): ChildSpec {
  const { port } = JSON.parse(readyLine) as Cloud;
  const args = spec.args.filter((arg) => arg !== '--new-keys' && arg !== '--accept-copy');
  args[args.indexOf('--port') + 1] = String(port);
  return { ...spec, args };
}

export const runnerOptionsFile = (options: UpOptions): string => path.join(options.dataDir, 'runner-options.json');

export const runnerOptions = ({ local_url, runner_key_id }: Cloud, key: string) => ({
  url: local_url,
  api_key_id: runner_key_id,
  api_key: key,
});

export function runnerSpec(options: UpOptions): ChildSpec {
  const folder = path.join(options.dataDir, 'runner');
  return {
    name: 'runner',
    command: process.execPath,
    args: [app('runner'), '--folder', folder, '--options-file', runnerOptionsFile(options)],
    env: plainEnv(),
    termMs: 15_000,
  };
}

export function agentSpec(machine: MachineFolder): ChildSpec {
  return {
    name: 'agent',
    command: machine.node,
    args: [machine.agentFile, '--config', machine.credentialsFile, '--root', machine.root],
    env: {
      PATH: '/usr/bin:/bin',
      LANG: 'C.UTF-8',
      HOME: machine.root,
      ...(process.env['TZ'] && { TZ: process.env['TZ'] }),
    },
    cwd: machine.root,
    ...machine.account,
    termMs: 140_000, // the agent stops the machine server first: TERM 120 s, QUIT 5 s, KILL
  };
}
