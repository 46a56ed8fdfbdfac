/** True in `.ci/run`: a few rounds of each attack. `npm run test:attack` by itself runs them all. */
const isShort = process.env['PLATFORM_ATTACK'] === 'short';

/** How many rounds of an attack to run. */
export const attackRounds = (all: number, short: number): number => (isShort ? short : all);
