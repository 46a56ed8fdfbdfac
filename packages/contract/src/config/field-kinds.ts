// What the fields of the configuration schema are made of.
import { z } from 'zod';

/** Metadata of a field besides its type. */
export interface Notes {
  /** Name in forms. */
  readonly title: string;
  readonly description: string;
  readonly unit?: 'min' | 'MB' | 'h';
  /** Never logged; shown as a password field. */
  readonly secret?: true;
  /** Alternative key, which clients of the public protocol write. */
  readonly alias?: string;
  /** Text for the default where the value alone is not clear. */
  readonly defaultText?: string;
  /** Not in the specification's tables. */
  readonly beyondSpec?: true;
  /** Limit in UTF-8 bytes. */
  readonly maxBytes?: number;
  /** Text for the valid values where the pattern alone is not clear. */
  readonly expected?: string;
  /** First version of the agent (for versions: of the management server) that supports the field; null: none yet. */
  readonly since: string | null;
  /** Operating systems on which the agent supports the field; absent: all. */
  readonly platforms?: readonly ('linux' | 'windows')[];
}

export const first = { since: '0.1.0' } as const;
export const firstOnLinux = { since: '0.1.0', platforms: ['linux'] } as const;

export const bytes = (text: string): number => new TextEncoder().encode(text).length;
export const flag = (value: boolean, notes: Notes) =>
  z
    .boolean()
    .default(value)
    .meta({ ...notes });
export const text = (value: string, notes: Notes) =>
  (notes.maxBytes === undefined ? z.string() : z.string().refine((s) => bytes(s) <= (notes.maxBytes ?? 0)))
    .default(value)
    .meta({ ...notes });
export const matching = (pattern: RegExp, value: string, notes: Notes & { expected: string }) =>
  z
    .string()
    .regex(pattern)
    .default(value)
    .meta({ ...notes });
export const minutes = (value: number, min: number, max: number, notes: Notes) =>
  z
    .int()
    .min(min)
    .max(max)
    .default(value)
    .meta({ ...notes, unit: 'min' });

/** A short text of WPA2-enterprise. */
export const eapText = (title: string, description: string, isSecret = false) =>
  text('', {
    ...firstOnLinux,
    title,
    description,
    maxBytes: 253,
    beyondSpec: true,
    ...(isSecret && { secret: true as const }),
  });
const pemBytes = 16_384;
/** PEM blocks of a kind, with text around them. */
export const pem = (kind: string, notes: Notes & { expected: string }) =>
  z
    .string()
    .regex(new RegExp(`^(?:[\\s\\S]*-----BEGIN ${kind}-----[A-Za-z0-9+/=\\s:,-]+-----END ${kind}-----[\\s\\S]*)?$`))
    .refine((s) => bytes(s) <= pemBytes)
    .default('')
    .meta({ ...notes, maxBytes: pemBytes });
