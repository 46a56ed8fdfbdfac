// docs/measured-values.md: every value that is shown and was measured, with its source and how long it holds. The
// durations are those of the code.
import { reportValidMs } from '@platform/contract/machine/report-age';
import { validMs } from '@platform/releases/documents';
import { timestampAgeMs } from '@platform/releases/online';
import { tellSkewMs, wrongClockLookMs } from '../../apps/agent/src/clock/device-time.ts';
import { fileSystemLookMs } from '../../apps/agent/src/health/file-system-conditions.ts';
import { hostLookMs, reportRepeatMs } from '../../apps/agent/src/link/report.ts';
import { certificateCheckMs } from '../../apps/agent/src/network/settings/certificates.ts';
import { connectivityValidMs } from '../../apps/agent/src/network/checks/connectivity-watch.ts';
import { answerLimitMs, measureEveryMs } from '../../apps/agent/src/network/rows/keep-rows.ts';
import { lostLinkMs } from '../../apps/agent/src/os/linux/kernel/radio-links.ts';
import { samplePeriodMs } from '../../apps/agent/src/samples/take-samples.ts';
import { answerValidMs } from '../../apps/agent/src/server/watch.ts';
import { validIntervals } from '../../apps/cloud/src/backup/rules/next-backup.ts';
import { answerMs, checkHoldsMs, databaseEveryMs, filesEveryMs } from '../../apps/cloud/src/health/readiness.ts';
import { checkInterval, onlineForMs } from '../../apps/cloud/src/machines/rules/online.ts';
import { repeatedQuietMs } from '../../apps/cloud/src/machines/rules/repeated-lines.ts';
import { runLifeMs } from '../../apps/cloud/src/machines/rules/sharing-runs.ts';
import { certificateLookMs } from '../../apps/cloud/src/tls/in-use.ts';
import { cameraCheckMs } from '../../apps/machine-server/src/resources/watched-camera.ts';
import { longestWaitMs } from '../../apps/web/src/ui/server-contact.ts';
import { span } from '../../apps/web/src/ui/times.ts';

export interface MeasuredValue {
  readonly value: string;
  /** Who measures it, and by what. */
  readonly source: string;
  readonly measured: string;
  readonly validFor: string;
  /** What page, lists, command line and conditions show once it does not hold any more. */
  readonly afterwards: string;
  /** File and title of a test that stops the source and waits. */
  readonly test: readonly [file: string, title: string];
}

const seconds = (ms: number): string => (ms < 60_000 ? `${ms / 1_000} s` : span(ms));
const [fewest, most] = [checkInterval(1), checkInterval(Infinity)];
const report = `${seconds(reportValidMs)}, and while the machine is online`;

const ofMachines: readonly MeasuredValue[] = [
  {
    value: 'Presence',
    source: 'checks of the agent',
    measured: `as each check arrives: every ${seconds(fewest)} to ${seconds(most)}, the more machines the longer. A check that the server holds counts until it ends.`,
    validFor: `three checks: ${seconds(onlineForMs(fewest))} to ${seconds(onlineForMs(most))}`,
    afterwards: '"Offline", and when it was seen last. All that it reported counts as past.',
    test: [
      'apps/cloud/test/config-status.test.ts',
      'a machine that stops checking in is offline after three checks, and nothing that it reported is claimed',
    ],
  },
  {
    value: 'Configuration in effect',
    source: 'report of the agent, compared by content',
    measured: `at each change, and every ${seconds(reportRepeatMs)}`,
    validFor: report,
    afterwards: '"not confirmed", with the reason. "It was in effect at the last report" is about the past.',
    test: [
      'apps/cloud/test/config-status.test.ts',
      'a machine whose checks arrive and whose reports do not: after 75 min nothing that it reported is claimed',
    ],
  },
  {
    value: 'Configuration by part: machine server',
    source: 'status of the machine server, read by the agent',
    measured: 'every 10 s; every second while it applies a change',
    validFor: seconds(answerValidMs),
    afterwards: '"not in effect: the machine server does not answer"',
    test: [
      'apps/agent/test/applied.test.ts',
      'the last answer of a machine server holds for a minute, then nothing is claimed',
    ],
  },
  {
    value: 'Resources and their failures',
    source: 'status of the machine server',
    measured: `with the status; each camera every ${seconds(cameraCheckMs)}, also one that nothing reads`,
    validFor: seconds(answerValidMs),
    afterwards: 'No failure and no success of an entry is claimed; the part of the machine server does not answer.',
    test: [
      'apps/agent/test/applied.test.ts',
      'an entry that failed is not called failing by a machine server that answers no more',
    ],
  },
  {
    value: 'Cameras',
    source: 'the source of the images',
    measured: `each read, and every ${seconds(cameraCheckMs)} without reads`,
    validFor: seconds(cameraCheckMs),
    afterwards: '`CAMERA_FAILED` at the place of the camera',
    test: [
      'apps/machine-server/test/resource-report.test.ts',
      'a camera that nothing reads reports a missing folder at its own place, and recovers by itself',
    ],
  },
  {
    value: 'Versions that run and are installed',
    source: 'processes and files on the machine, in the report of the agent',
    measured: `at each change, and every ${seconds(reportRepeatMs)}`,
    validFor: report,
    afterwards: '"ran" instead of "runs", "was running" in the list, and of when the last report is',
    test: [
      'apps/cli/src/views/machine.test.ts',
      'machine show and list: what an offline machine reported is of its last report',
    ],
  },
  {
    value: 'Trial of a version',
    source: 'trial file on the machine, in the report of the agent',
    measured: `at each change, and every ${seconds(reportRepeatMs)}`,
    validFor: report,
    afterwards: '"was on trial … at the last report". A version that has not started is never on trial.',
    test: [
      'apps/web/src/entities/machine/program-status.test.ts',
      'a trial that a machine reported before it went offline is one of then',
    ],
  },
  {
    value: 'Configured networks',
    source: 'signals of NetworkManager, and a question whether it still answers',
    measured: `at each signal; the question every ${seconds(measureEveryMs)}`,
    validFor: `${seconds(measureEveryMs + answerLimitMs)} without an answer`,
    afterwards: '"not known: NetworkManager does not answer", and "not measured"',
    test: [
      'apps/agent/test/network-upstream.test.ts',
      'a NetworkManager that runs and answers no question: within 70 s no row is in use any more',
    ],
  },
  {
    value: 'Link of a radio',
    source: 'NetworkManager, and the flags of the interface, which are of the kernel',
    measured: 'at each signal',
    validFor: `${seconds(lostLinkMs)} after the kernel has no link, if NetworkManager says nothing`,
    afterwards: 'the radio is disconnected, and networks are tried',
    test: [
      'apps/agent/test/radio-loss.test.ts',
      'a radio whose access point is gone is not connected, though NetworkManager has missed it',
    ],
  },
  {
    value: 'Way to the internet',
    source: 'answers of the management server, else checks of the agent',
    measured: 'each answer; else after 30 s, then ever more rarely, at least every 5 min',
    validFor: seconds(connectivityValidMs),
    afterwards: '"unknown"',
    test: [
      'apps/agent/test/network-upstream.test.ts',
      'a measurement that cannot be repeated is unknown after its time',
    ],
  },
  {
    value: 'Network of a machine, on its page',
    source: 'report of the agent',
    measured: `at each change, and every ${seconds(reportRepeatMs)}`,
    validFor: report,
    afterwards: 'Nothing is green, no link and no network is in use now. The page says of when it is.',
    test: [
      'apps/web/src/features/machines/page/network.test.ts',
      'of a machine that reports no more, nothing of the network is good or in use now',
    ],
  },
  {
    value: 'Certificates of enterprise networks',
    source: 'the configuration and the clock of the machine',
    measured: `every ${seconds(certificateCheckMs)}`,
    validFor: 'their last day',
    afterwards: '`NETWORK_CERTIFICATE_EXPIRED`. The network is still tried, because the clock may be wrong.',
    test: [
      'apps/agent/src/network/settings/certificates.test.ts',
      'an expired certificate is named while its network stays, and until it is renewed',
    ],
  },
  {
    value: 'Disk of a machine',
    source: "the file system of the agent's folder",
    measured: `with each report; whether it is full, every ${seconds(fileSystemLookMs)}`,
    validFor: report,
    afterwards:
      'A size that cannot be measured is left out, and the page says of when it is. `DISK_FULL` and `ROOT_NOEXEC` stay until a measurement clears them.',
    test: [
      'apps/agent/test/file-system-conditions.test.ts',
      'no inodes, no space, noexec: named with the mount point, and gone with the cause only',
    ],
  },
  {
    value: 'Name and distribution of a machine',
    source: 'the operating system',
    measured: `every ${seconds(hostLookMs)}`,
    validFor: seconds(hostLookMs),
    afterwards: 'A new name is in the report and in new log lines.',
    test: [
      'apps/agent/test/host-facts-story.test.ts',
      'a renamed machine has its new name in reports and in new log lines within two minutes',
    ],
  },
  {
    value: 'Use of a machine: processor, memory, disk, network',
    source: 'the kernel',
    measured: `every ${seconds(samplePeriodMs)}`,
    validFor: seconds(samplePeriodMs),
    afterwards: 'A gap in the chart, and the age of the newest sample. Nothing is drawn on.',
    test: [
      'apps/web/src/features/machines/page/sample-lines.test.ts',
      'all charts share their times, and a time without samples is a gap in each',
    ],
  },
  {
    value: 'Clock of a machine',
    source: 'times in the answers of the management server',
    measured: `each answer; while it is wrong by more than ${seconds(tellSkewMs)}, also every ${seconds(wrongClockLookMs)} by the time that passed since`,
    validFor: seconds(wrongClockLookMs),
    afterwards: '`CLOCK_WRONG` goes, also while the server is out of reach.',
    test: [
      'apps/agent/src/clock/device-time.test.ts',
      'a wrong clock that is set while the server is out of reach is not called wrong a minute later',
    ],
  },
  {
    value: 'Computers that share an identity',
    source: 'checks of the agents, by run',
    measured: 'each check',
    validFor: seconds(runLifeMs),
    afterwards: '`IDENTITY_SHARED` goes.',
    test: [
      'apps/cloud/src/machines/rules/sharing-runs.test.ts',
      'it ends when one of them has not checked in for ten minutes',
    ],
  },
  {
    value: 'Agents of two products on one machine',
    source: 'checks of the agents, by run',
    measured: 'each check',
    validFor: seconds(runLifeMs),
    afterwards: '`AGENTS_BOTH_RUN` goes.',
    test: ['apps/cloud/test/part-runs.test.ts', 'agents of two products on one part are found'],
  },
  {
    value: 'Log lines under numbers of other lines',
    source: 'the store of log lines',
    measured: 'each such line',
    validFor: seconds(repeatedQuietMs),
    afterwards: '`SPOOL_REPEATED` goes.',
    test: [
      'apps/cloud/src/machines/rules/repeated-lines.test.ts',
      'a condition for 24 hours after the last line under the number of another one',
    ],
  },
];

const ofServer: readonly MeasuredValue[] = [
  {
    value: 'Contact of a page with the server',
    source: 'calls of the page',
    measured: 'each answer',
    validFor: `${seconds(longestWaitMs)} without an answer, or the first failed call`,
    afterwards: 'Since when the server does not answer. No machine is online; each "was".',
    test: ['apps/web/src/ui/server-contact.test.ts', 'without contact no machine is shown as online'],
  },
  {
    value: 'State of the server, in the settings',
    source: '`GetHealth`',
    measured: 'every 30 s while the page is open',
    validFor: 'one failed call, or the contact of the page',
    afterwards: '"Not known: it does not answer", and of when the values are',
    test: [
      'apps/web/src/features/settings/server-health.test.ts',
      'server health: without an answer, what worked is not shown as working',
    ],
  },
  {
    value: 'Database',
    source: 'a statement over a connection of its own',
    measured: `every ${seconds(databaseEveryMs)}, and answered within ${seconds(answerMs)}`,
    validFor: seconds(checkHoldsMs),
    afterwards: '`unavailable`, `database: does not answer`',
    test: ['apps/cloud/test/database-hang.test.ts', 'not ready, and back by itself: '],
  },
  {
    value: 'Files (blobs): can be written',
    source: 'a file that is written and removed; the mark of the folder',
    measured: `every ${seconds(filesEveryMs)}, and answered within ${seconds(answerMs)}`,
    validFor: seconds(checkHoldsMs),
    afterwards: '`unavailable`, `blobs: cannot be written`, or `did not answer`',
    test: [
      'apps/cloud/test/readiness.test.ts',
      'files and disk that do not answer for 1.5 s are a problem, and well again with their next answer',
    ],
  },
  {
    value: 'Files (blobs): are those of this installation',
    source: 'the mark of the folder',
    measured: 'at the start, at each file that is stored, with each check of the files',
    validFor: 'that one use',
    afterwards: '`BLOBS_NOT_MOUNTED`; no file is taken',
    test: [
      'apps/cloud/test/blob-mark.test.ts',
      'a disk that goes while the server runs makes it unavailable, and takes no new file',
    ],
  },
  {
    value: 'Disk of the server',
    source: 'the file system of the data folder',
    measured: `every ${seconds(filesEveryMs)}, and answered within ${seconds(answerMs)}`,
    validFor: seconds(checkHoldsMs),
    afterwards: '`unavailable`, `disk: did not answer`',
    test: [
      'apps/cloud/test/readiness.test.ts',
      'files and disk that do not answer for 1.5 s are a problem, and well again with their next answer',
    ],
  },
  {
    value: 'Newest backup',
    source: 'the note that each backup leaves in the data folder',
    measured: 'when a backup is complete',
    validFor: `${validIntervals} intervals of the schedule`,
    afterwards:
      'A warning with its date in the settings and in `/readyz`. A date in the future counts as none: the next backup is made at once.',
    test: ['apps/cloud/test/backup-timer.test.ts', 'a timer that stopped is noticed after two intervals'],
  },
  {
    value: 'Certificate of the server',
    source: 'its files',
    measured: `every ${seconds(certificateLookMs)}; the dates at each call of \`/readyz\` and \`GetHealth\``,
    validFor: 'its last day',
    afterwards: '`degraded`, "The certificate expired on …"',
    test: [
      'apps/cloud/test/renewed-certificate.test.ts',
      'a certificate that ends while the server runs is called expired, though nothing renews it',
    ],
  },
  {
    value: 'Release documents, signed by the server',
    source: 'the key of the server',
    measured: `signed every ${seconds(timestampAgeMs)}`,
    validFor: `timestamp ${seconds(validMs.timestamp)}, snapshot ${seconds(validMs.snapshot)}`,
    afterwards: 'Agents refuse them with `METADATA_EXPIRED`, also with a clock that was set back.',
    test: [
      'apps/agent/test/tuf-clock.test.ts',
      'expired_timestamp_freeze: a clock that is set back makes no old document good again',
    ],
  },
  {
    value: 'Release documents, signed by owners',
    source: 'keys of owners',
    measured: 'when owners sign',
    validFor: `targets ${seconds(validMs.targets)}, root ${seconds(validMs.root)}`,
    afterwards: 'A warning in the log from 14 days before the end, with the command; then as above.',
    test: [
      'apps/cloud/test/release-freshness.test.ts',
      'documents stay fresh: every hour, after a week away, and a warning before users have to sign',
    ],
  },
];

export const measuredValues: readonly MeasuredValue[] = [...ofMachines, ...ofServer];

function table(values: readonly MeasuredValue[]): string[] {
  return [
    '| value | source | when measured | valid for | shown afterwards | test |',
    '|---|---|---|---|---|---|',
    ...values.map(
      ({ value, source, measured, validFor, afterwards, test: [file] }) =>
        `| ${[value, source, measured, validFor, afterwards, `\`${file}\``].map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`,
    ),
  ];
}

export const measuredValuesDocs = (): string =>
  [
    '# Measured values and how long they hold',
    '',
    'Generated from `tools/gen/measured-values.ts` by `npm run gen`. The durations are those of the code.',
    '',
    'For operators who decide by what a page or a command shows, and for developers who add such a value. Every measured value has a source and an age. Not measured, too old and unknown are values of their own, never shown as good.',
    '',
    'Each row names the file of a test that stops the source and waits; its name is in `tools/gen/measured-values.ts`.',
    '',
    '## Machines',
    '',
    ...table(ofMachines),
    '',
    '## The management server',
    '',
    ...table(ofServer),
    '',
  ].join('\n');
