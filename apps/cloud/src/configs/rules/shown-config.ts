import type { JsonObject } from '@bufbuild/protobuf';
import { hideSecrets } from '@platform/contract/config/placeholders';

/** A saved configuration for all readers but its machine. @param saved - undefined: none was saved. */
export function shownConfig(saved: { text: string } | undefined): { robotConfig: JsonObject; robotConfigJson: string } {
  const robotConfigJson = hideSecrets(saved?.text ?? '{}');
  return { robotConfig: JSON.parse(robotConfigJson) as JsonObject, robotConfigJson };
}
