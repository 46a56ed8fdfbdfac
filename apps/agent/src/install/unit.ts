import { standardLimits } from '../machines/server-process.ts';

/** Names of the systemd units: the agent's own, and the one that it makes for the machine server. */
export const agentUnit = 'platform-agent.service';
export const serverUnit = 'platform-server.service';
/** Reads what the machine server writes. */
export const relayUnit = 'platform-server-output.service';

/** The agent ends the server within this time, whatever the server does. */
export const serverStopSeconds = Math.ceil((standardLimits.term + standardLimits.quit + standardLimits.kill) / 1000);
/** And then sends its last lines and ends; systemd must not lose patience before. */
export const agentStopSeconds = serverStopSeconds + 45;

export interface UnitOf {
  /** Absolute. */
  root: string;
  /** Absolute. */
  credentialsFile: string;
}

/**
 * For the program's runtime. It interprets: an agent does little, and never the same for long, so that compiling at run time
 * would cost a sixth of its memory and gain nothing. (Without any compiler at all there are no foreign functions, and without
 * those no READY.) No report of a crash leaves the machine by itself.
 */
export const runtimeEnvironment: Readonly<Record<string, string>> = {
  BUN_JSC_useBaselineJIT: '0',
  BUN_JSC_useDFGJIT: '0',
  BUN_JSC_useFTLJIT: '0',
  BUN_ENABLE_CRASH_REPORTING: '0',
  DO_NOT_TRACK: '1',
};
/**
 * For the relay: two threads wait in reads of its pipes for good, and each of its three files may hold one for as long as the disk hangs.
 * The runtime has as many as the machine has processors, which may be one.
 */
export const relayEnvironment: Readonly<Record<string, string>> = { ...runtimeEnvironment, UV_THREADPOOL_SIZE: '8' };
const environmentWords = Object.entries(runtimeEnvironment).map(([name, value]) => `${name}=${value}`);

/** Below the root; `NAME="value"` lines, readable by root only: an address of a proxy can hold a password. */
export const unitEnvironmentFile = 'state/environment';

/**
 * Text of the agent's unit. What stands here is what keeps a machine reachable: never give up starting (the gate bounds bad
 * versions), end what hangs, leave the machine server alone (it has a unit of its own).
 */
export const unitText = ({ root, credentialsFile }: UnitOf): string => `[Unit]
Description=Platform agent
# Not network-online: the machine server has to start without a network, too.
After=dbus.service NetworkManager.service bluetooth.service
StartLimitIntervalSec=0

[Service]
Type=notify
NotifyAccess=main
ExecStartPre=-/bin/sh ${word(`${root}/lib/gate`)} ${word(root)}
ExecStart=${word(`${root}/bin/platform-agent`)} run --root ${word(root)} --config ${word(credentialsFile)}
EnvironmentFile=-${specifiers(`${root}/${unitEnvironmentFile}`)}
Environment=${environmentWords.join(' ')}
UnsetEnvironment=BUN_OPTIONS BUN_BE_BUN BUN_INSPECT NODE_OPTIONS LD_PRELOAD
Restart=always
RestartSec=5
TimeoutStartSec=90
TimeoutStopSec=${agentStopSeconds}
WatchdogSec=60
KillMode=mixed
OOMScoreAdjust=-500
LimitCORE=0
ProtectSystem=yes
ProtectHome=read-only
ReadWritePaths=-${word(root)}
ProtectKernelModules=yes
LockPersonality=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native

[Install]
WantedBy=multi-user.target
`;

const startSettings = /^(Type|NotifyAccess|ExecStartPre|ExecStart|Restart|RestartSec|WatchdogSec)=/;

/**
 * A unit with all settings of `text` that starts this program once, to print its version, when it may write below the root.
 * Undefined: it has no section for that.
 */
export function checkedUnit(text: string, root: string): string | undefined {
  const [head] = text.split(/^\[Install\]$/m);
  if (!head || !/^\[Service\]$/m.test(head)) return undefined;
  const lines = head.split('\n').filter((line) => !startSettings.test(line));
  const program = word(`${root}/bin/platform-agent`);
  const start = [
    'Type=oneshot',
    `ExecStart=/bin/sh -c 'test -w "$$1"' sh ${word(`${root}/state`)}`,
    `ExecStart=${program} version`,
  ];
  return lines.join('\n').replace(/^\[Service\]$/m, ['[Service]', ...start].join('\n'));
}

/** One word of a command line, as systemd reads it. */
const word = (text: string): string => {
  const plain = specifiers(text).replaceAll('$', '$$$$');
  return /^[A-Za-z0-9_@%+=:,./$-]+$/.test(plain) ? plain : `"${plain.replace(/["\\]/g, '\\$&')}"`;
};

const specifiers = (text: string): string => text.replaceAll('%', '%%');
