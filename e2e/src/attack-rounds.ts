/** True in `.ci/run`: a few rounds of each attack. `npm run test:attack` runs all rounds. */
const isShort = process.env['PLATFORM_ATTACK'] === 'short';

/** Returns the number of rounds of an attack. */
export const attackRounds = (all: number, short: number): number => (isShort ? short : all);
