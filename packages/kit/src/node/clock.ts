/** The same standard timers as in a browser. */
export { browserClock as systemClock } from '../web/clock.ts';
