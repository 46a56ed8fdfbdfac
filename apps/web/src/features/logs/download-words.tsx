import { DownloadIcon } from '../../ui/icons.tsx';

/** What stands on the button. */
export const DownloadWords = () => (
  <>
    <DownloadIcon />
    Download
  </>
);
