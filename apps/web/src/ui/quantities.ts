export { formatBytes as bytes } from '@platform/kit';

/** "90.5 %" of a share in 0..1. */
export const percent = (share: number, digits = 1): string => `${(share * 100).toFixed(digits)} %`;

/** "1 image", "1 200 images". */
export const formatCount = (amount: number | bigint, one: string, many = `${one}s`): string =>
  `${formatGrouped(amount)} ${Number(amount) === 1 ? one : many}`;

/** Thin spaces between thousands, which no locale uses as a decimal mark. */
export const formatGrouped = (amount: number | bigint): string =>
  String(amount).replace(/\B(?=(\d{3})+(?!\d))/g, '\u202f');

/** At most five characters: "9 999", "10.8k", "333k", "1.2M". */
export function formatShort(amount: number): string {
  const [unit, letter] = amount >= 999_500 ? [1_000_000, 'M'] : [1_000, 'k'];
  if (amount < 10_000) return formatGrouped(amount);
  return `${(amount / unit).toFixed(amount < 99.95 * unit ? 1 : 0)}${letter}`;
}

/** The first characters of a long ID, enough to distinguish IDs on one page. */
export const shortId = (id: string): string => (id.length > 13 ? `${id.slice(0, 8)}…` : id);
