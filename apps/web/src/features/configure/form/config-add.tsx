import { OpensLater } from '../../../ui/loaded-later.tsx';
import { examples, isEmptyConfig } from '../config-parts.ts';
import { AddWords } from './config-add-words.tsx';
import type { ConfigAddProps } from './config-add-words.tsx';

/** What can be added to a configuration; an empty one opens with examples. */
export function ConfigAdd({ config, isDisabled, onAdd }: ConfigAddProps) {
  const isEmpty = isEmptyConfig(config.json);
  return (
    <div className="stack">
      <div>
        <OpensLater
          name="what can be added"
          load={() => import('./config-add-list.tsx')}
          button={<AddWords />}
          kind="dialog"
          isDisabled={isDisabled}
        >
          {({ ConfigAddList }) => <ConfigAddList config={config} isDisabled={isDisabled} onAdd={onAdd} />}
        </OpensLater>
      </div>
      {isEmpty && <Examples config={config} isDisabled={isDisabled} onAdd={onAdd} />}
    </div>
  );
}

const Examples = ({ config, isDisabled, onAdd }: ConfigAddProps) => (
  <section className="card card-body" aria-label="Examples">
    <div className="stack-tight">
      <h2>Start with an example</h2>
      <p className="small soft">Nothing is configured so far. An example is a draft until you save it.</p>
    </div>
    <div className="form-grid">
      {examples.map(({ title, help, add }) => {
        const added = add(config);
        return (
          <button
            key={title}
            type="button"
            className="button example"
            disabled={added === undefined || isDisabled}
            onClick={() => added && onAdd(added)}
          >
            <strong>{title}</strong>
            <span className="soft small">{help}</span>
          </button>
        );
      })}
    </div>
  </section>
);
