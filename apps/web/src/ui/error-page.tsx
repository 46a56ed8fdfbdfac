import { errorText } from '@platform/kit';
import { Note } from './messages.tsx';

/** Shown if a page fails to render: a bug, or an update of the app under an open page. */
export const ErrorPage = ({ error }: { error: unknown }) => (
  <Note
    tone="bad"
    isLive
    action={
      <button type="button" className="button button-small" onClick={() => window.location.reload()}>
        Reload
      </button>
    }
  >
    <p>This page could not be shown. Reload it; if the server was updated meanwhile, that is all it takes.</p>
    <p className="mono small soft">{errorText(error)}</p>
  </Note>
);
