import { linkConditions } from '@platform/contract/conditions/rows/link';

type LinkCode = keyof typeof linkConditions;

/** Codes of the conditions between this machine and its management server. */
export const linkCodes = Object.keys(linkConditions) as readonly LinkCode[];

export const isLinkCode = (code: string): code is LinkCode => Object.hasOwn(linkConditions, code);
