/** A color of the theme, for drawings that style sheets do not reach. */
export const colorOf = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** The font of the page at this size. */
export const fontOf = (px: number): string => `${px}px ${getComputedStyle(document.documentElement).fontFamily}`;
