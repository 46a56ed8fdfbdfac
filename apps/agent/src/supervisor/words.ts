/** What an agent and its keeper say to each other over the channel between parent and child. */

/** Set for an agent that was started by a keeper: ms within which it has to show that it lives. */
export const watchdogVariable = 'PLATFORM_AGENT_KEEPER_WATCHDOG_MS';

/** From the agent, lines as in sd_notify(3). */
export interface Told {
  tell: string;
}
/** To the agent: it is to stop. */
export const stopWord = { stop: true } as const;

export const isTold = (message: unknown): message is Told =>
  typeof message === 'object' && message !== null && 'tell' in message && typeof message.tell === 'string';
export const isStopWord = (message: unknown): boolean =>
  typeof message === 'object' && message !== null && 'stop' in message && message.stop === true;
