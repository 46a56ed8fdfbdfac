/** The messages between an agent and its supervisor, over the IPC channel between parent and child. */

/** Set by the supervisor: the agent must send a watchdog message within this time, in ms. */
export const watchdogVariable = 'PLATFORM_AGENT_KEEPER_WATCHDOG_MS';

/** From the agent, lines as in sd_notify(3). */
export interface StateMessage {
  tell: string;
}
/** To the agent: a request to stop. */
export const stopMessage = { stop: true } as const;

export const isStateMessage = (message: unknown): message is StateMessage =>
  typeof message === 'object' && message !== null && 'tell' in message && typeof message.tell === 'string';
export const isStopMessage = (message: unknown): boolean =>
  typeof message === 'object' && message !== null && 'stop' in message && message.stop === true;
