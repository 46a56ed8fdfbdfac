/** How a machine is added. */
const addWays = ['linux', 'windows', 'container', 'card', 'phone'] as const;
export type AddWay = (typeof addWays)[number];
export const isAddWay = (text: unknown): text is AddWay => addWays.some((one) => one === text);
