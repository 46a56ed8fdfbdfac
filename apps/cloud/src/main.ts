import { PlatformError } from '@platform/contract/errors/errors';
import { startFailureStatus } from '@platform/contract/releases/start-failure';
import { createLog, errorText } from '@platform/kit';
import { onSignals, stderrSink, systemClock, Usage } from '@platform/kit/node';
import { type CloudOptions, cloudOptions } from './options.ts';
import { type Server, startServer } from './server.ts';
import { collectWhenIdle, ownMemory } from './process/idle-collection.ts';
import { rateLimitLog } from './process/rate-limit-log.ts';

/** Time limit of an orderly stop, because clients may keep connections open. */
const stopMs = 10_000;

async function main(): Promise<number> {
  let options: CloudOptions;
  try {
    options = cloudOptions(process.argv.slice(2), process.env);
  } catch (error) {
    if (!(error instanceof Usage)) throw error;
    process.stderr.write(`${error.message}\n`);
    return error.exitCode;
  }
  const stopped = onSignals();
  const log = createLog({
    name: 'cloud',
    clock: systemClock,
    level: options.logLevel,
    sink: rateLimitLog(stderrSink(options.json ? 'json' : options.logFormat)),
  });
  let server: Server;
  try {
    server = await startServer(options, { clock: systemClock, log });
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    process.stderr.write(`${error.message}\n`);
    if (error.cause !== undefined) log.debug('cause', { error: errorText(error.cause) });
    return startFailureStatus(error.code);
  }
  const { unhandled } = server;
  process.on('unhandledRejection', (error) => unhandled.report(error, 'a promise without a handler'));
  process.on('uncaughtException', (error) => unhandled.report(error, 'a callback'));
  process.stdout.write(`${JSON.stringify(readyLine(server))}\n`);
  const resting = new AbortController();
  const tidied = collectWhenIdle({ memory: ownMemory, clock: systemClock, log }, resting.signal);
  log.info('ready', { url: server.url, dataDir: server.dataFolder, database: server.database });

  const reason = await Promise.race([
    server.broken,
    new Promise<undefined>((resolve) => onAbort(stopped, () => resolve(undefined))),
  ]);
  if (reason) log.error('cannot go on', { error: reason.message });
  log.info('stopping');
  resting.abort();
  await tidied;
  const isClosed = await Promise.race([server.close().then(() => true), systemClock.sleep(stopMs).then(() => false)]);
  if (!isClosed) server.abandon();
  log.info(isClosed ? 'stopped' : 'stopped before everything had ended');
  return reason ? 1 : 0;
}

function onAbort(signal: AbortSignal, f: () => void): void {
  if (signal.aborted) f();
  else signal.addEventListener('abort', f, { once: true });
}

/** Without keys and links, because the output ends up in log files. */
const readyLine = ({
  url,
  installScriptCommand,
  localUrl,
  insideUrl,
  metricsUrl,
  port,
  firstRun,
  credentialsFile,
  dataFolder,
  database,
}: Server) => ({
  ready: true,
  url,
  local_url: localUrl,
  inside_url: insideUrl,
  ...(metricsUrl !== undefined && { metrics_url: metricsUrl }),
  port,
  install_script_command: installScriptCommand,
  org_id: firstRun.orgId,
  credentials_file: credentialsFile,
  data_dir: dataFolder,
  database,
});

process.exitCode = await main();
// An open connection must not keep a stopped server alive.
process.exit();
