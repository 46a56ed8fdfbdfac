export { FakeClock } from './fake-clock.ts';
export { captureLog } from './capture-log.ts';
export { memoryFolder } from './memory-folder.ts';
export { tempFolder, type TempFolder } from './temp-folder.ts';
export { seededRandom } from './seeded-random.ts';
export { issue, type Issue, type Issued } from './certificates.ts';
export { smallPng } from './small-png.ts';
export { proxyTo } from './proxy.ts';
