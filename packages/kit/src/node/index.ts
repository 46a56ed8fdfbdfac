export { systemClock } from './clock.ts';
export { isSystemClockSynchronized } from './clock-source.ts';
export { isCertificateCode } from './tls/certificate-error.ts';
export { clockTolerantFetch } from './tls/clock-tolerant-fetch.ts';
export type { TrustedAuthority } from './tls/trusting-fetch.ts';
export { fetchUnverified } from './tls/verified-fetch.ts';
export { plainEnvironment, type Environment } from './environment.ts';
export { atomicWrite, readJson } from './files.ts';
export { readPem, readPemSync, readStdin, readText, readTextSync } from './text-file.ts';
export { isCopiedMark, markFolder } from './folder-mark.ts';
export { options, Usage, type OptionTable, type OptionValues } from './options.ts';
export {
  isAlive,
  processStartTime,
  signalGroup,
  spawnGroup,
  type Exit,
  type ProcessGroup,
  type SpawnOptions,
} from './process-group.ts';
export { unusableProxies, unusableRemedy, unusableText, useProxiesOf, type UnusableProxy } from './proxies.ts';
export { processAgeMs } from './process-age.ts';
export { onSignals } from './signals.ts';
export { inMemory, runFolder, spareLock } from './run-folder.ts';
export { formatLine, stderrSink } from './sinks.ts';
export { FolderLocked, lockFolder, type FolderLock } from './lock.ts';
export { applyPatch, PatchRefused } from './vcdiff.ts';
export { makePatch } from './vcdiff-encoder.ts';
