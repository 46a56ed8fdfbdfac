// Every transition of network provisioning. The machine can make no other; docs/generated/provisioning.md is drawn
// from this table.

export type At =
  | 'unmanaged'
  | 'online'
  | 'offline'
  | 'opening'
  | 'hotspot'
  | 'closing'
  | 'searching'
  | 'joining'
  | 'rebooting';

/** The hotspot runs, or is being started, in exactly these. */
export const hotspotStates: ReadonlySet<At> = new Set<At>(['opening', 'hotspot', 'closing']);

export const stateWords: Readonly<Record<At, string>> = {
  unmanaged: 'disable_network_configuration is true: the agent leaves the network alone.',
  online: 'Normal mode, online by the rule of the mode.',
  offline: 'Normal mode, not online: networks of the mode are tried, the offline clock runs.',
  opening: 'The hotspot and its endpoints are being started.',
  hotspot: 'Provisioning: the hotspot runs.',
  closing:
    'A user entered something, or ended provisioning. The hotspot runs a moment longer, so that the answer reaches the phone.',
  searching: 'The hotspot is closed, the radio scans for known networks.',
  joining: 'One network is being joined.',
  rebooting: 'The machine is rebooted because it is offline.',
};

interface Move {
  from: readonly At[];
  to: At;
  /** Completes "because …". */
  because: string;
}

const move = <To extends At>(from: readonly At[], to: To, because: string) => ({ from, to, because });

export const moves = {
  disabled: move(
    ['online', 'offline', 'hotspot', 'closing', 'opening', 'searching', 'joining', 'rebooting'],
    'unmanaged',
    'the configuration disables network management',
  ),
  enabled: move(['unmanaged'], 'offline', 'the configuration enables network management'),

  cameOnline: move(['offline'], 'online', 'the machine is online'),
  wentOffline: move(['online'], 'offline', 'the connection is lost'),

  openedOffline: move(['offline'], 'opening', 'the machine was offline for offline_before_starting_hotspot_minutes'),
  openedFresh: move(['offline'], 'opening', 'the machine has no credentials and knows no network'),
  openedUnconfigured: move(['online'], 'opening', 'the machine has no credentials'),
  openedRefused: move(
    ['online', 'offline'],
    'opening',
    'the set-up code that a user entered was refused, or waits for its server',
  ),
  openedForced: move(['online', 'offline'], 'opening', 'provisioning was forced'),
  openedAfterFailure: move(['joining'], 'opening', 'the network that was entered could not be used'),
  openedAgain: move(['joining', 'searching'], 'opening', 'no known network could be used'),
  reopened: move(['hotspot'], 'opening', 'the settings of the hotspot have changed'),
  moved: move(['hotspot'], 'opening', 'the hotspot has to leave its channel'),

  started: move(['opening'], 'hotspot', 'the hotspot has started'),
  notStarted: move(['opening'], 'searching', 'the hotspot could not be started'),
  lost: move(['hotspot'], 'offline', 'the hotspot ended, or its radio is gone'),

  submitted: move(['hotspot'], 'closing', 'a user entered a network or credentials'),
  exited: move(['hotspot'], 'closing', 'a user ended provisioning'),
  onlineOtherwise: move(['hotspot'], 'online', 'the machine is online by another link and no user is active'),
  knownReturned: move(['hotspot'], 'joining', 'a known network is visible and no user is active'),
  retryTimeout: move(['hotspot'], 'searching', 'retry_connection_timeout_minutes passed and no user is active'),
  rebootedProvisioning: move(['hotspot'], 'rebooting', 'the machine was offline too long and no user is active'),

  joinsEntered: move(
    ['closing', 'opening', 'online', 'offline', 'searching', 'joining'],
    'joining',
    'a user entered a network',
  ),
  searchesKnown: move(
    ['closing'],
    'searching',
    'a user entered credentials or ended provisioning, and a known network may work',
  ),

  joinsKnown: move(['offline'], 'joining', 'a network of the mode is visible'),
  triesHigher: move(['online'], 'joining', 'a network of higher priority is in reach'),
  joinsRound: move(['searching'], 'joining', 'each known network is tried once'),
  joinsNext: move(['joining'], 'joining', 'the network before could not be used'),

  joined: move(['joining'], 'online', 'the network was joined'),
  foundOnline: move(['joining', 'searching', 'closing', 'opening'], 'online', 'the machine is online'),
  gaveUp: move(
    ['joining', 'searching', 'opening'],
    'offline',
    'no network could be used, and no hotspot can be started now',
  ),

  rebooted: move(['offline'], 'rebooting', 'the machine was offline for device_reboot_after_offline_minutes'),
  notRebooted: move(['rebooting'], 'offline', 'the reboot did not happen'),
} as const satisfies Record<string, Move>;

export type MoveId = keyof typeof moves;
