import { ChevronIcon } from '../../../ui/icons.tsx';
import type { ConfigText } from '../config-edit.ts';
import type { Added } from '../config-parts.ts';

export interface ConfigAddProps {
  config: ConfigText;
  isDisabled: boolean;
  onAdd: (added: Added) => void;
}

/** What stands on the button that adds to a configuration. */
export const AddWords = () => (
  <>
    Add
    <ChevronIcon />
  </>
);
