import type { Transport } from '@connectrpc/connect';
import { callUnaryMethod } from '@connectrpc/connect-query';
import type { ImageSuggestions } from '@platform/contract/gen/platform/suggestions/v1/suggestions_pb';
import { SuggestionService } from '@platform/contract/gen/platform/suggestions/v1/suggestions_pb';
import type { LabelImage } from './label-edits.ts';
import type { Suggestion } from './suggestions.ts';

/** IDs per request, and concurrent requests. */
const atOnce = 500;
const lanes = 4;

const suggestionsOf = ({ suggestions }: ImageSuggestions): Suggestion[] =>
  suggestions.map(({ id, label, score, box, rejected }) => ({
    id,
    label,
    score,
    frame: box && {
      xMin: box.xMinNormalized,
      yMin: box.yMinNormalized,
      xMax: box.xMaxNormalized,
      yMax: box.yMaxNormalized,
    },
    isRejected: rejected,
  }));

/** The images with what the newest predictions suggest for them. */
export async function withSuggestions(
  transport: Transport,
  datasetId: string,
  images: readonly LabelImage[],
  signal: AbortSignal,
): Promise<LabelImage[]> {
  const found = new Map<string, readonly Suggestion[]>();
  const starts = Array.from({ length: Math.ceil(images.length / atOnce) }, (_, n) => n * atOnce).values();
  const lane = async (): Promise<void> => {
    for (const start of starts) {
      const binaryDataIds = images.slice(start, start + atOnce).map(({ id }) => id);
      const { listSuggestions } = SuggestionService.method;
      const answer = await callUnaryMethod(transport, listSuggestions, { datasetId, binaryDataIds }, { signal });
      for (const one of answer.images) found.set(one.binaryDataId, suggestionsOf(one));
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return images.map((image) => {
    const suggestions = found.get(image.id);
    return suggestions === undefined ? image : { ...image, suggestions };
  });
}
