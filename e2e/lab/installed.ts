// A machine of the lab with an agent, installed by the one-line command that users get.
import { timestampMs } from '@bufbuild/protobuf/wkt';
import type { Machine } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { OnlineState, ServerState } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { systemClock } from '@platform/kit/node';
import { eventually, type LabMachine, type CommandResult } from './machine.ts';
import type { NewMachine, Site } from './site.ts';

export const oneLine = (site: Site, partId: string): string => {
  const variables = Object.entries(site.installEnv(partId)).map(([name, value]) => `${name}=${value}`);
  return `/bin/sh -c "${variables.join(' ')}; $(${site.scriptCommand})"`;
};

export const isOnline = ({ onlineState, report }: Machine): boolean =>
  onlineState === OnlineState.ONLINE && report?.serverState === ServerState.RUNNING;

/** Also requires a contact with the server on this host after this moment (ms since 1970). */
export const isOnlineSince =
  (momentMs: number) =>
  (machine: Machine): boolean =>
    isOnline(machine) && machine.lastSeen !== undefined && timestampMs(machine.lastSeen) > momentMs;

/** Installs on a machine that exists in the app, or creates one. @throws Error with the installer's output */
export async function installed(site: Site, on: LabMachine, as: string | NewMachine): Promise<NewMachine> {
  const made = typeof as === 'string' ? await site.createMachine(as) : as;
  // Its network may still be coming up, and a shell with empty input from curl exits with 0.
  await eventually(`${on.name} reaches the server`, 300, async () =>
    (await on.exec(`curl -fsSk -o /dev/null ${site.url}/livez`)).code === 0 ? true : undefined,
  );
  await on.must(oneLine(site, made.partId), 600);
  await site.until(made.partId, 'online, and its server runs', 300, isOnline);
  return made;
}

/** Returns the last log lines of both programs and the state of the unit, for a failed test. */
async function lastWords(on: LabMachine): Promise<string> {
  const { stdout } = await on.exec(
    'journalctl -u platform-agent -u platform-server -u platform-server-output -o short-monotonic --no-pager -n 60; tail -n 20 /opt/platform/log/* 2>/dev/null; ls -l /opt/platform/bin /opt/platform/versions; tail -n +1 /opt/platform/state/*.trial /opt/platform/state/*.bad; ps -eLo pid,tid,stat,wchan:24,etimes,args | grep [p]latform; for p in $(pgrep -f platform-); do echo "== $p"; ls -l /proc/$p/fd; done',
    60,
  );
  return stdout;
}

/** Runs `f`; if it fails, adds the state of the machine to the error. */
export async function telling<T>(on: LabMachine, f: () => Promise<T>): Promise<T> {
  try {
    return await f();
  } catch (error) {
    const words = await lastWords(on).catch((silent: unknown) => String(silent));
    // The error last: of a long text, CI shows the end.
    throw new Error(`${words}\n${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

/** Returns the output of `platform-agent status --json`. */
export async function statusOf(on: LabMachine): Promise<Record<string, unknown> & CommandResult> {
  const result = await on.exec('/opt/platform/bin/platform-agent status --json');
  return { ...result, ...(JSON.parse(result.stdout) as Record<string, unknown>) };
}

/** Pid of the main process of a unit; 0: none. */
export const mainPid = async (on: LabMachine, unit: string): Promise<number> =>
  Number(await on.must(`systemctl show -P MainPID ${unit}`));

/** Version of the running process, by the file from which it was started. */
export async function runningVersion(on: LabMachine, unit: 'platform-agent' | 'platform-server'): Promise<string> {
  const pid = await mainPid(on, unit);
  if (pid === 0) return '';
  const { stdout: file } = await on.exec(`readlink /proc/${pid}/exe`); // the process has exited meanwhile
  return /\/versions\/(.+)-[0-9a-f]{12}\//.exec(file)?.[1] ?? file.trim();
}

/** Returns the seconds until the unit runs this version. */
export async function untilRuns(
  on: LabMachine,
  unit: 'platform-agent' | 'platform-server',
  version: string,
  seconds: number,
): Promise<number> {
  const start = systemClock.now();
  await eventually(`${unit} ${version} runs on ${on.name}`, seconds, async () =>
    (await runningVersion(on, unit)) === version ? true : undefined,
  );
  return (systemClock.now() - start) / 1000;
}

/** Returns every path of the machine's own disk, and the content of its settings: an uninstall must restore them. */
export const everything = (on: LabMachine): Promise<string> =>
  on.must(
    String.raw`cd /
find . -xdev \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./run -o -path ./tmp -o -path ./var/tmp -o -path ./var/log/journal -o -path ./var/lib/systemd -o -path ./var/cache -o -path ./var/lib/NetworkManager \) -prune -o -printf '%p %y %m\n' | sort
find etc usr/local root -type f -exec sha256sum {} + | sort -k 2`,
    300,
  );
