/** Node has the same standard timers as a browser. */
export { browserClock as systemClock } from '../web/clock.ts';
