import { command, type Command } from './command.ts';
import { installOptions } from './install-options.ts';
import { preinstallOptions } from './preinstall-options.ts';
import { migrateBackOptions, takeOverOptions } from './take-over-options.ts';
import { jsonOption, placeOptions, runOptions } from './run-options.ts';

const programWord = { type: 'rest', words: 'agent|server', description: 'agent or server.' } as const;

/** All commands, in the order of the help. */
export const commands: readonly Command[] = [
  command({
    name: 'run',
    summary: 'Keep the machine server installed, running and up to date (also without a command)',
    about:
      'Keeps the machine server of one machine installed, running and up to date, until a signal stops both. systemd runs this.',
    table: runOptions,
    load: async () => (await import('./run.ts')).run,
  }),
  command({
    name: 'install',
    summary: 'Install this program as a service and start it; again: nothing is changed',
    about:
      'Checks the machine, fetches the credentials (with part id and API key) or uses those that are there, stores this program below the root, and makes systemd start it now and at every boot. What ran before goes on running when anything fails.',
    table: installOptions,
    load: async () => (await import('./install.ts')).install,
  }),
  command({
    name: 'preinstall',
    summary: 'Install the agent in the mounted root file system of a device, for its first boot',
    about:
      'Checks the agent by the signed list of the management server, without a network, and installs it in an image or on a card. At the first boot the device takes its credentials from platform.json on the boot partition, or asks its owner in provisioning.',
    table: preinstallOptions,
    load: async () => (await import('./preinstall.ts')).preinstall,
  }),
  command({
    name: 'prepare-image',
    summary: 'Make a root that was used fit for an image: forget which machine it was',
    about:
      'Removes the credentials, the configuration, the quarantine and everything else of this one machine below the root, and keeps the programs with their versions: a device made from the image starts like a preinstalled one. Refuses while the agent runs. A repeated call changes nothing. Machine id and SSH host keys are left to the operating system.',
    table: {
      ...placeOptions,
      keepCredentials: {
        type: 'boolean',
        env: '',
        description: 'Leave the credentials, for an image of this one machine.',
      },
      keepServerData: {
        type: 'boolean',
        env: '',
        description: 'Leave the data of the machine server. Its packages always stay.',
      },
      networks: { type: 'boolean', env: '', description: 'Remove the network profiles of the agent, with passwords.' },
      dryRun: { type: 'boolean', env: '', description: 'Show what it would remove, and remove nothing.' },
      ...jsonOption,
    },
    load: async () => (await import('./prepare-image.ts')).prepare,
  }),
  command({
    name: 'uninstall',
    summary: 'Stop and remove agent, machine server, their data and credentials',
    about:
      'Undoes what install did: what it changed elsewhere is as it was before, its folder and the credentials are gone. The networks that the machine is online by and those that a user entered at the hotspot are left to the system. Asks first; without a terminal --yes is needed.',
    table: {
      ...placeOptions,
      keepCredentials: { type: 'boolean', env: '', description: 'Leave the credentials file.' },
      networks: {
        type: 'boolean',
        env: '',
        description:
          'Remove the networks of the agent, too, also the one in use. Over that link it needs --yes. Not on Windows.',
      },
      yes: { type: 'boolean', short: 'y', env: '', description: 'Do not ask.' },
      ...jsonOption,
    },
    load: async () => (await import('./uninstall.ts')).uninstall,
  }),
  command({
    name: 'migrate-back',
    summary: 'Give the machine back to the agent of another product that was replaced by a migration',
    about:
      "Restores the program and the record of the other agent, stops and disables platform-agent and its machine server, then enables and starts the other agent's service. If that does not start, platform-agent runs again. platform-agent stays installed: `uninstall` removes it. Asks first; without a terminal --yes is needed.",
    table: migrateBackOptions,
    load: async () => (await import('./migrate-back.ts')).migrateBack,
  }),
  command({
    name: 'status',
    summary: 'What runs, what is wanted, and why',
    about:
      'Requests the status from the running agent. If none runs, shows the state in its folder and exits with 3. The members of the JSON document are described in docs/generated/agent.md.',
    table: { root: placeOptions.root, ...jsonOption },
    load: async () => (await import('./status.ts')).status,
  }),
  command({
    name: 'doctor',
    summary: 'Look for what is wrong, and say what to do about it',
    about:
      'Looks at the service, the programs on the disk, the credentials, the way to the management server, the clock and the room on the disk. Changes nothing. Ends with 1 when something failed; warnings and notes alone end with 0.',
    table: { ...placeOptions, ...jsonOption },
    load: async () => (await import('./doctor.ts')).doctor,
  }),
  command({
    name: 'logs',
    summary: 'The last lines of the agent, or with --server of the machine server',
    about:
      "The agent's lines are in the journal of systemd. The warnings and errors (stderr) of the machine server are shown, with --stdout its standard output, too.",
    table: {
      root: placeOptions.root,
      follow: { type: 'boolean', short: 'f', env: '', description: 'Go on with new lines until Ctrl-C.' },
      lines: {
        type: 'number',
        short: 'n',
        env: '',
        min: 0,
        max: 10_000,
        default: 100,
        description: 'How many of the last lines.',
      },
      server: { type: 'boolean', env: '', description: 'Those of the machine server.' },
      stdout: { type: 'boolean', env: '', description: 'With --server: what it prints on stdout.' },
      json: { type: 'boolean', env: '', description: 'One JSON object a line.' },
    },
    load: async () => (await import('./logs.ts')).logs,
  }),
  command({
    name: 'diagnostics',
    summary: 'Write a zip file with what someone who helps from afar wants to see',
    about:
      'Status, checks of the doctor, configuration, versions, unit, last lines and the state of disks, time and network. Secrets of credentials, configuration, defaults and proxies are taken out of every file.',
    table: {
      ...placeOptions,
      defaults: runOptions.defaults,
      output: {
        type: 'string',
        short: 'o',
        env: '',
        description: 'File to write; left out: one in this folder, named by machine and time.',
      },
      ...jsonOption,
    },
    load: async () => (await import('./diagnostics.ts')).diagnostics,
  }),
  command({
    name: 'provision',
    summary: 'Show or set the credentials of this machine',
    about:
      'Without --credentials and --code: says which part this machine is, or how it gets its credentials (exit code 5 while it has none). With --credentials: checks them and puts them in place, readable by root alone. With --code: gets them from the management server. If the server cannot be reached now, the code is kept, and the agent redeems it later. A running agent takes credentials over at once.',
    table: {
      ...placeOptions,
      credentials: {
        type: 'string',
        env: '',
        description: 'File with the credentials as the management app shows them; - for stdin.',
      },
      code: {
        type: 'string',
        env: '',
        description:
          'Set-up code with its server, as the management app shows it: ABCD-EFGH@fleet.example; - for stdin.',
      },
      force: { type: 'boolean', env: '', description: 'Replace the credentials of another machine.' },
      hotspot: { type: 'boolean', env: '', description: 'Start the hotspot of the running agent now.' },
      yes: { type: 'boolean', env: '', description: 'With --hotspot: also if this session comes over WiFi.' },
      ...jsonOption,
    },
    load: async () => (await import('./provision.ts')).provision,
  }),
  command({
    name: 'update',
    summary: 'Look for updates now, and try again what failed',
    about:
      'Makes the running agent look at once, shows how downloads get on and says what came of it. A new version is used at the next restart, as the configuration says. Ends with 5 when there was nothing new, with 1 when a wanted version could not be had.',
    table: {
      root: placeOptions.root,
      wait: {
        type: 'number',
        env: '',
        min: 0,
        max: 86_400,
        default: 600,
        description: 'Seconds to stay while something is downloaded.',
      },
      ...jsonOption,
    },
    load: async () => (await import('./update.ts')).update,
  }),
  command({
    name: 'rollback',
    summary: 'Back to the previous version of agent or server, without a download',
    about:
      'Goes back to the version before this one, from the disk of this machine, and keeps it there by a pin: `pin agent|server --off` takes it off again. Works also while no agent runs, for example because it does not start.',
    table: { program: programWord, root: placeOptions.root, ...jsonOption },
    load: async () => (await import('./versions.ts')).rollback,
  }),
  command({
    name: 'pin',
    summary: 'Keep agent or server at a version, whatever the management server wants',
    about:
      'To a version that is stored on this machine, or to an address (https://, file://; http:// with #sha256=HEX). The pin holds on this machine only and is shown by status, here and in the management app. --off takes it off.',
    table: {
      program: { type: 'rest', words: 'agent|server VERSION', description: 'agent or server, then the version.' },
      root: placeOptions.root,
      off: { type: 'boolean', env: '', description: 'Pin nothing any more.' },
      ...jsonOption,
    },
    load: async () => (await import('./versions.ts')).pin,
  }),
  command({
    name: 'clear',
    summary: 'Let quarantined versions of agent or server be tried again',
    about: 'A version that failed here is not tried again by itself. After this it is, once.',
    table: { program: programWord, root: placeOptions.root, ...jsonOption },
    load: async () => (await import('./versions.ts')).clear,
  }),
  command({
    name: 'supervise',
    summary: 'Do for the agent what systemd does, where there is none (a container)',
    about:
      'Installs this program below --root when no version is there, keeps the agent running, ends one that hangs, and goes back from a version that fails. Until a signal.',
    table: placeOptions,
    load: async () => (await import('./supervise.ts')).supervise,
  }),
  command({
    name: 'service',
    summary: 'What the service manager of Windows starts',
    about: 'Started by the service manager of Windows, not by users.',
    table: placeOptions,
    isHidden: true,
    load: async () => (await import('./windows-supervise.ts')).superviseOnWindows,
  }),
  command({
    name: 'interrupt',
    summary: 'Send Ctrl+C to the console of a process; an agent on Windows calls this for itself',
    about: 'Joins the console of that process. Fails if its own parent shares the console.',
    table: {
      pid: { type: 'number', env: '', min: 1, max: 4_294_967_295, default: 0, description: 'The process.' },
    },
    isHidden: true,
    load: async () => (await import('./interrupt.ts')).interrupt,
  }),
  command({
    name: 'take-over',
    summary: "Take the place of another product's agent",
    about: "Started in place of another product's agent, with its options; not by users.",
    table: takeOverOptions,
    isHidden: true,
    load: async () => (await import('./take-over.ts')).takeOver,
  }),
  command({
    name: 'unit',
    summary: 'Print the systemd unit that this version wants',
    about: 'The agent before asks this of a new version, before it switches to it.',
    table: placeOptions,
    isHidden: true,
    load: async () => (await import('./unit.ts')).printUnit,
  }),
  command({
    name: 'fetch',
    summary: 'Fetch a release; an agent calls this for itself',
    about: 'Takes the task as JSON on stdin, answers with JSON lines on stdout.',
    table: {},
    isHidden: true,
    load: async () => (await import('./fetch.ts')).fetchOne,
  }),
  command({
    name: 'relay',
    summary: 'Read what the machine server writes; an agent calls this for itself',
    about: 'Reads pipes and socket of the machine server into bounded files until it ends.',
    table: { root: placeOptions.root },
    isHidden: true,
    load: async () => (await import('./relay.ts')).relay,
  }),
  command({
    name: 'endpoints',
    summary: 'Serve the pages of the hotspot; an agent calls this for itself',
    about: 'Serves unknown clients on two sockets that it inherits, or over Bluetooth. Reads and writes JSON lines.',
    table: {
      bluetooth: { type: 'boolean', env: '', default: false, description: 'Read what Bluetooth clients write.' },
      address: { type: 'string', env: '', default: '', description: 'Address of the hotspot.' },
      port: { type: 'number', env: '', min: 1, max: 65_535, default: 80, description: 'Port of the portal.' },
    },
    isHidden: true,
    load: async () => (await import('./endpoints.ts')).endpoints,
  }),
  command({
    name: 'version',
    summary: 'The version of this program as JSON',
    about: 'Prints {"version", "binary_name"} in one line.',
    table: {},
    load: async () => (await import('./version.ts')).printVersion,
  }),
];
