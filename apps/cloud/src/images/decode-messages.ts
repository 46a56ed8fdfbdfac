/** What the server and its decoder processes say to each other. */
import type { DecodedImage } from './rules/image-content.ts';

export type DecodeRequest = { readonly id: number; readonly path: string } & (
  | { readonly is: 'measure' }
  | { readonly is: 'thumbnail'; readonly edge: number; readonly mostBytes: number }
);

export type DecodeAnswer = { readonly id: number } & (
  | { readonly is: 'measured'; readonly image: DecodedImage }
  | { readonly is: 'thumbnail'; readonly bytes: Uint8Array }
  | { readonly is: 'failed'; readonly message: string }
);
