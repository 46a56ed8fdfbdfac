import { Link } from '@tanstack/react-router';
import { UserText } from '../../../ui/isolated-text.tsx';
import type { LabelImage } from './label-edits.ts';
import type { Labelling } from './labelling.ts';
import { formatCount, percent } from '../../../ui/quantities.ts';
import { openSuggestions, suggestionCounts } from './suggestions.ts';
import type { Suggestion } from './suggestions.ts';
import type { LabellingPage } from './labelling-state.ts';

interface SuggestionPanelProps {
  page: LabellingPage;
  state: Labelling;
  image: LabelImage;
  datasetId: string;
}
/** What a model suggests for the image, and how all that is sure enough is accepted at once. */
export function SuggestionPanel({ page, state, image, datasetId }: SuggestionPanelProps) {
  const { images, mode, minimum } = state;
  const [first, ...others] = openSuggestions(image, mode);
  const { open, sure } = suggestionCounts(images, mode, minimum);
  return (
    <section className="label-suggestions" aria-label="Suggestions">
      <h2>Suggestions</h2>
      {first && <First page={page} suggestion={first} others={others.length} />}
      {open > 0 ? (
        <>
          {!first && <p className="soft small">None for this image.</p>}
          <button
            type="button"
            className="button button-small"
            disabled={sure === 0}
            onClick={() => page.run({ do: 'accept-all' })}
          >
            Accept {formatCount(sure, 'image')} from {percent(minimum, 0)} <kbd>Shift Y</kbd>
          </button>
          <div className="label-acts">
            <button
              type="button"
              className="button button-quiet button-small"
              onClick={() => page.run({ do: 'minimum', way: 'down' })}
            >
              Lower <kbd>[</kbd>
            </button>
            <button
              type="button"
              className="button button-quiet button-small"
              onClick={() => page.run({ do: 'minimum', way: 'up' })}
            >
              Higher <kbd>]</kbd>
            </button>
          </div>
        </>
      ) : (
        <p className="soft small">No suggestions wait.</p>
      )}
      <Link to="/datasets/$datasetId/review" params={{ datasetId }} className="small">
        {open > 0 ? 'Doubtful labels, near copies' : 'Let a model suggest labels'}
      </Link>
    </section>
  );
}

interface FirstProps {
  page: LabellingPage;
  suggestion: Suggestion;
  others: number;
}
const First = ({ page, suggestion: { label, score }, others }: FirstProps) => (
  <>
    <p className="label-suggested">
      <UserText text={label} /> <span className="numbers push">{percent(score, 0)}</span>
    </p>
    <div className="label-acts">
      <button type="button" className="button button-small" onClick={() => page.run({ do: 'accept' })}>
        Accept <kbd>Y</kbd>
      </button>
      <button type="button" className="button button-small" onClick={() => page.run({ do: 'reject' })}>
        Reject <kbd>N</kbd>
      </button>
    </div>
    {others > 0 && <p className="soft small">{formatCount(others, 'more suggestion')}</p>}
  </>
);
