/** `one`: an answer goes on to the next image. `several`: answers add up, Space goes on. `boxes`: labels of boxes. */
export const labelModes = ['one', 'several', 'boxes'] as const;
export type LabelMode = (typeof labelModes)[number];
