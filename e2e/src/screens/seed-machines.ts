// The machines of the seeded installation: a day of samples and lines, conditions, revisions, some of them offline.
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { PlatformClient } from '@platform/client';
import {
  type AgentReportSchema,
  NetworkConnectivity,
  NetworkLinkState,
  NetworkLinkType,
  NetworkMode,
  ServerState,
  Severity,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { systemClock } from '@platform/kit/node';
import { type WireMachine, wireMachine } from '../wire-callers.ts';

const minute = 60_000;
const day = 24 * 60 * minute;
const gib = 1024n ** 3n;

const places = ['barn', 'yard', 'mill', 'silo', 'gate', 'dairy'];
const machineNames = Array.from({ length: 24 }, (_, n) => `${places[n % places.length]}-${Math.floor(n / 6) + 1}`);

const config = (n: number) => ({
  agent: {
    advanced_settings: { debug: n % 2 === 0, platform_server_start_timeout_minutes: 10 },
    additional_networks: [{ ssid: 'barn-west', priority: 10, type: 'wifi', psk: 'horse battery' }],
  },
  components: [
    { name: 'front', type: 'camera', model: 'webcam', attributes: { path: '/dev/video0' } },
    { name: 'rear', type: 'camera', model: 'webcam', attributes: { path: '/dev/video2' } },
    { name: 'hatch', type: 'sensor', model: 'gpio', attributes: { pin: 17 } },
  ],
  services: [{ name: 'cows', type: 'mlmodel', model: 'onnx', attributes: { package: 'cows', version: 'latest' } }],
});

/** One machine in six has a broken camera, one in eight a full disk. */
function conditionsOf(n: number, now: number) {
  const since = timestampFromMs(now - (n + 5) * 17 * minute);
  const code = 'RESOURCE_FAILED';
  if (n % 6 === 0) {
    const message = 'Camera front: open /dev/video0: no such device.';
    const remedy = 'Plug the camera in, or correct its path.';
    return [{ code, severity: Severity.ERROR, message, remedy, path: 'components[0].attributes.path', since }];
  }
  if (n % 8 !== 3) return [];
  const message = 'Only 0.9 GiB of the disk are free.';
  return [{ code, severity: Severity.WARNING, message, remedy: 'Remove files, or use a larger disk.', since }];
}

function reportOf(n: number, now: number): MessageInitShape<typeof AgentReportSchema> {
  const version = n % 7 === 3 ? '1.3.9' : '1.4.2';
  const program = { runningVersion: version, installedVersion: version, wantedVersion: '1.4.2' };
  return {
    appliedRevision: n % 5 === 0 ? 2n : 0n,
    agent: program,
    server: program,
    serverState: ServerState.RUNNING,
    restartAllowed: true,
    hostname: machineNames[n] ?? '',
    platform: 'linux/arm64',
    os: 'Debian GNU/Linux 12 (bookworm)',
    supervisedBySystemd: true,
    conditions: conditionsOf(n, now),
    facts: {
      model: n % 3 === 0 ? 'Raspberry Pi 5 Model B Rev 1.0' : 'Raspberry Pi 4 Model B Rev 1.4',
      architecture: 'aarch64',
      distribution: 'Debian GNU/Linux 12 (bookworm)',
      kernel: '6.1.0-18-arm64',
      memoryBytes: 4n * gib,
      disk: { sizeBytes: 32n * gib, freeBytes: BigInt(n + 1) * gib },
      temperatureCelsius: 47 + n / 2,
      uptime: { seconds: BigInt((n + 1) * 40_000) },
    },
    network: {
      mode: NetworkMode.NORMAL,
      hasLink: true,
      isCloudReached: true,
      connectivity: NetworkConnectivity.FULL,
      links: [
        {
          interface: 'wlan0',
          type: NetworkLinkType.WIFI,
          state: NetworkLinkState.CONNECTED,
          ssid: 'barn-west',
          signalPercent: 71,
          addresses: ['10.4.1.7/24'],
        },
        {
          interface: 'eth0',
          type: NetworkLinkType.WIRED,
          state: NetworkLinkState.CONNECTED,
          addresses: ['10.4.2.7/24'],
          hasDefaultRoute: true,
        },
      ],
    },
  };
}

const samplesUntil = (now: number, n: number) => ({
  spoolId: `seed ${n}`,
  firstSequence: 1n,
  start: BigInt(Math.floor((now - day) / 1000)),
  samples: Array.from({ length: 1_440 }, (_, at) => {
    const wave = Math.sin((at + 90 * n) / 95);
    return {
      seconds: at * 60,
      processorPermille: Math.round(340 + 180 * wave + (at % 37)),
      memoryPermille: Math.round(520 + 60 * wave),
      diskPermille: 610 + Math.round(at / 60),
      temperatureTenths: Math.round(510 + 60 * wave),
      receivedBytesPerSecond: BigInt(Math.round(40_000 + 20_000 * wave)),
      sentBytesPerSecond: BigInt(Math.round(90_000 + 50_000 * wave)),
    };
  }),
});

const lines = (now: number) =>
  Array.from({ length: 1_000 }, (_, n) => {
    const at = now - minute - (999 - n) * minute;
    if (n % 240 > 228) return { level: 'error', message: 'open /dev/video0: no such device', at };
    const level = n % 17 === 0 ? 'warn' : n % 3 === 0 ? 'debug' : 'info';
    return { level, message: `prediction ${n}: cow 0.93`, at };
  });

async function saveRevisions(client: PlatformClient, partId: string, count: number): Promise<void> {
  const comments = ['first set-up', 'camera at the front', 'longer start time-out', 'WiFi of the barn'];
  for (let n = 1; n <= count; n++) {
    const configJson = JSON.stringify(config(n), null, 2);
    await client.fleetClient.saveConfig({ partId, configJson, comment: comments[n % comments.length] ?? '' });
  }
}

export interface SeededMachines {
  /** It has a condition, samples, log lines and revisions. */
  readonly machineId: string;
  readonly partId: string;
  /** Keeps the machines online. */
  beat(): Promise<void>;
}

export async function seedMachines(client: PlatformClient, organizationId: string): Promise<SeededMachines> {
  const now = systemClock.wall();
  const talking: WireMachine[] = [];
  const first = { machineId: '', partId: '' };
  for (const [n, name] of machineNames.entries()) {
    const { machine, credentialsJson } = await client.fleetClient.createMachine({ organizationId, name });
    const { id = '', partId = '' } = machine ?? {};
    await client.fleetClient.tagMachine({ id, add: [n % 2 ? 'hall-b' : 'hall-a', 'camera'] });
    if (n % 6 === 0 || n % 5 === 0) await saveRevisions(client, partId, n === 0 ? 22 : 2);
    if (n >= machineNames.length - 2) continue;
    const wire = await wireMachine(credentialsJson);
    await wire.check(reportOf(n, now), samplesUntil(now, n));
    if (n % 9 !== 4) talking.push(wire);
    if (n > 0) continue;
    Object.assign(first, { machineId: id, partId });
    await wire.logAll(lines(now));
  }
  return {
    ...first,
    async beat() {
      await Promise.all(talking.map((machine) => machine.beat()));
    },
  };
}
