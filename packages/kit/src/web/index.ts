export { browserClock } from './clock.ts';
