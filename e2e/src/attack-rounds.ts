/** True in `.ci/run`: a few rounds of each attack. `npm run test:attack` runs all rounds. */
const isShort = process.env['PLATFORM_ATTACK'] === 'short';

export const attackRounds = (all: number, short: number): number => (isShort ? short : all);
