import { randomUUID } from 'node:crypto';
import { mkdir, realpath } from 'node:fs/promises';
import path from 'node:path';
import { Cell, createLog, errorText } from '@platform/kit';
import { lockFolder, onSignals, spareLock, stderrSink, systemClock, Usage } from '@platform/kit/node';
import { serveControl } from '../control/serve.ts';
import { readLayers } from './layers.ts';
import { system } from '../composition/system.ts';
import { peerValidity } from '../os/peer-certificate.ts';
import { webBy } from '../os/web.ts';
import { childEnvironment } from '../os/environment.ts';
import { thisMachine } from '../composition/this-machine.ts';
import { unusableRemedy, unusableText, useProxiesOf } from '../os/proxies.ts';
import type { Device } from '../os/ports.ts';
import { readKeptExit } from '../supervisor/exit-file.ts';
import { RequestTrace } from '../os/request-trace.ts';
import { runAgent } from '../composition/run-agent.ts';
import { keepAuthority } from '../link/authority-file.ts';
import { awaitCredentials } from '../link/credentials.ts';
import { connectTransport } from '../link/http.ts';
import type { PreviousRun } from '../health/previous-run.ts';
import type { HeardTime } from '../clock/device-time.ts';
import { openProvenTime } from '../clock/proven-time.ts';
import { tolerantFetch, trustedBy } from '../link/tolerant-fetch.ts';
import { deviceFetch } from '../versions/device-fetch.ts';
import { reportExpiredMetadata } from '../versions/trust/expired.ts';
import { childFetcher } from '../versions/fetch-child.ts';
import { setCondition } from '../health/condition-set.ts';
import type { Fetcher } from '../versions/ports.ts';
import { selfIdOf } from '../versions/self.ts';
import { systemUnit } from '../install/system-unit.ts';
import { version } from '../versions/version.ts';
import type { Io } from './command.ts';
import { exitCodes } from './exit-codes.ts';
import type { AgentOptions } from './run-options.ts';
import { previousRunInJournal } from '../composition/previous-run.ts';
import { printVersion } from './version.ts';

/** Runs the agent until a signal. */
export async function run(given: AgentOptions, io: Io): Promise<number> {
  if (given.version) return printVersion({}, io);
  const unusable = useProxiesOf(process.env);
  const credentialsFile = path.resolve(given.config);
  const root = path.resolve(given.root);
  const layers = await readLayers(given);
  await makeFolders(root);
  await using lock = await lockFolder(path.join(root, 'state', 'agent.lock'), {
    spare: await spareLock(root, 'agent'),
  });

  const sink = stderrSink(given.logFormat);
  const clock = systemClock;
  const log = createLog({ name: 'agent.os', clock, level: given.debug ? 'debug' : 'info', sink });
  const signals = onSignals();
  const trace = new RequestTrace();
  const { device, supervisor, stopped, ownMemory, memoryLimitBytes, forgetStart } = await thisMachine({
    root,
    env: process.env,
    orphaned: () => process.exit(exitCodes.broken), // like a crash: the server stays, the next agent adopts it
    trace,
    clock,
    log,
  });
  if (lock.takenOver) log.warn('an earlier agent ended without letting go of its folder', { root });
  const stop = stopped ? AbortSignal.any([signals, stopped]) : signals;
  const found = await awaitCredentials(
    credentialsFile,
    {
      copy: path.join(root, 'state', 'credentials.last-good'),
      tell: (text) => supervisor.notify(`READY=1\nSTATUS=${text}\nWATCHDOG=1`),
      clock,
      log,
    },
    stop,
  );
  if (!found) return exitCodes.done;
  const { credentials } = found;
  const conditions = new Cell(found.problem ? [found.problem] : []);
  const selfId = selfIdOf(await realpath(root), await realpath(process.execPath));
  if (unusable.length > 0) {
    const message = `${unusable.map(unusableText).join(' ')} Calls go without a proxy.`;
    const [code, severity] = ['PROXY_UNSUPPORTED', 'warning'] as const;
    setCondition(conditions, { code, severity, message, remedy: unusableRemedy });
    log.warn('a proxy cannot be used', { proxies: unusable });
  }
  const { appAddress, authority } = credentials;
  const authorityFile = await keepAuthority(root, authority, log);
  const trusted = trustedBy(credentials);
  const heardTime = new Cell<HeardTime | undefined>(undefined);
  const refuted = new Cell<number | undefined>(undefined);
  const proven = await openProvenTime(device.disk, clock);
  const send = tolerantFetch({ clock, system, proven, trusted, refuted: (time) => refuted.set(time) });
  const late = reportExpiredMetadata(conditions);
  // Only the built program can start itself again; from source, this process fetches.
  const fetcher: Fetcher =
    selfId === undefined
      ? {
          fetch: (task, tell, signal) =>
            deviceFetch(
              task,
              {
                device: { ...device, web: webBy(send, { trace, clock }) },
                appAddress,
                system,
                late,
                clock,
                log,
              },
              tell,
              signal,
            ),
        }
      : childFetcher({
          command: process.execPath,
          args: ['fetch'],
          env: childEnvironment(process.env),
          root,
          appAddress,
          authority,
          late,
          log: trace.over(log),
        });
  const isUnit = selfId !== undefined && device.host.isSupervisedBySystemd && process.getuid?.() === 0;
  const unitPlace = isUnit ? await systemUnit({ root, credentialsFile }, system) : undefined;
  void forgetStart({ clock, log }, stop);
  await runAgent(
    {
      device: { ...device, web: webBy(send, { trace, clock }) },
      transport: connectTransport(credentials.appAddress, {
        clock,
        trace,
        onDate: (ms) => heardTime.set({ wall: refuted.get() ?? ms, isClockRefuted: refuted.get() !== undefined }),
        validityOf: (url) => peerValidity(url, clock),
        fetch: send,
      }),
      trace,
      heardTime,
      timeFloor: proven.floor,
      credentials,
      credentialsFile: found.file,
      ...(authorityFile !== undefined && { authorityFile }),
      conditions,
      runHistory: { bootId: device.host.bootId, previousRun: () => previousRun(device) },
      root,
      layers,
      version,
      selfId,
      unitPlace,
      fetcher,
      clock,
      sink,
      random: Math.random,
      newId: randomUUID,
      control: serveControl,
      supervisor,
      ownMemory,
      memoryLimitBytes,
    },
    stop,
  );
  return exitCodes.done;
}

/** From the supervisor's record, where there is one; else from the journal of systemd. */
const previousRun = (device: Device): Promise<PreviousRun> =>
  device.host.isKept === true ? readKeptExit(device.disk) : previousRunInJournal(process.env);

async function makeFolders(root: string): Promise<void> {
  try {
    for (const name of ['state', 'log', 'spool', 'cache', 'versions', 'bin', 'server']) {
      await mkdir(path.join(root, name), { recursive: true });
    }
  } catch (error) {
    throw new Usage(
      `The folder ${root} cannot be used: ${errorText(error)}. Run the agent as a user who may write there, or name another with --root.`,
      2,
    );
  }
}
