import { ChevronIcon } from '../../../ui/icons.tsx';

/** What stands on the button. */
export const ColumnWords = () => (
  <>
    Columns
    <ChevronIcon />
  </>
);
