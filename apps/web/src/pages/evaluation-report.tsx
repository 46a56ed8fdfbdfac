import { Note } from '../parts/messages.tsx';
import type { EvaluationView, HeatCell } from '../view/evaluations.ts';
import { bytes, counted, percent } from '../view/quantities.ts';
import { span } from '../view/times.ts';

/** How good the model is on pictures it has not seen, and where it errs. */
export function EvaluationReport({ evaluation }: { evaluation: EvaluationView }) {
  const { pictures, model } = evaluation;
  return (
    <section className="card" aria-label="Evaluation">
      <div className="card-head">
        <h2>Evaluation</h2>
        <span className="soft small">
          on {counted(evaluation.count, 'picture')} that training never saw
          {evaluation.heldOut === 'validation' &&
            ' but that chose its best epoch: add test pictures for a figure to rely on'}
        </span>
      </div>
      <div className="card-body">
        <div className="figures">
          <Figure name="Accuracy" value={percent(evaluation.accuracy)} />
          {evaluation.macroF1 !== undefined && <Figure name="Macro F1" value={percent(evaluation.macroF1)} />}
          {evaluation.seconds !== undefined && (
            <Figure name="Training and evaluation" value={span(evaluation.seconds * 1000)} />
          )}
          {model.size_bytes !== undefined && <Figure name="Model file" value={bytes(model.size_bytes)} />}
          {model.latency_ms !== undefined && (
            <Figure name="One prediction" value={`${model.latency_ms.toFixed(0)} ms`} />
          )}
        </div>
        {evaluation.heat.length > 0 && <HeatTable evaluation={evaluation} />}
        {evaluation.classes.length > 0 && <ClassTable evaluation={evaluation} />}
        {evaluation.scores.length > 1 && (
          <p className="small soft">
            {evaluation.scores.map(({ name, accuracy }) => `${name} ${percent(accuracy)}`).join(' · ')}; chosen on
            validation: {evaluation.chosen}
          </p>
        )}
        {evaluation.advice.map((text) => (
          <Note key={text} tone="busy">
            <p>{text}</p>
          </Note>
        ))}
        {evaluation.skipped.length > 0 && (
          <Note tone="warn">
            <p>{counted(pictures?.skipped ?? evaluation.skipped.length, 'picture')} could not be used:</p>
            <ul className="small soft">
              {evaluation.skipped.slice(0, 10).map(({ file_name, reason }) => (
                <li key={file_name} className="break">
                  {file_name}: {reason}
                </li>
              ))}
            </ul>
          </Note>
        )}
        <Worst evaluation={evaluation} />
        {pictures && (
          <p className="small soft">
            Pictures: {pictures.train} to train, {pictures.validation} to choose the best epoch, {pictures.test} to
            test.
            {evaluation.side !== undefined && ` Seen at ${evaluation.side} × ${evaluation.side} px.`}
            {evaluation.pretrained && ` Started from ${evaluation.pretrained}.`}
          </p>
        )}
      </div>
    </section>
  );
}

const Figure = ({ name, value }: { name: string; value: string }) => (
  <div className="figure">
    <strong className="numbers">{value}</strong>
    <span className="small soft">{name}</span>
  </div>
);

function HeatTable({ evaluation }: { evaluation: EvaluationView }) {
  return (
    <div className="stack-tight">
      <h3 id="confusion">Confusion matrix</h3>
      <p className="small soft">Rows: what the picture shows. Columns: what the model said.</p>
      <div className="heat-scroll" role="region" aria-labelledby="confusion" tabIndex={0}>
        <table className="heat">
          <thead>
            <tr>
              <td />
              {evaluation.labels.map((label) => (
                <th key={label} scope="col">
                  <span>{label}</span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {evaluation.heat.map((row) => (
              <tr key={row.label}>
                <th scope="row">{row.label}</th>
                {row.cells.map((cell) => (
                  <Heat key={cell.label} cell={cell} of={row.label} support={row.support} />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}

/** From this share on a cell is strong and takes the other text colour; nothing lies between, where neither colour is readable. */
const strongShare = 0.6;
const strengthOf = (share: number): number => Math.round(share >= strongShare ? 84 + share * 16 : 10 + share * 60);

const Heat = ({ cell, of, support }: { cell: HeatCell; of: string; support: number }) => (
  <td
    className={`numbers${cell.share >= strongShare ? ' heat-dark' : ''}${cell.isRight ? ' heat-right' : ''}`}
    style={cell.count === 0 ? {} : { backgroundColor: `rgb(var(--heat) / ${strengthOf(cell.share)}%)` }}
    title={`${cell.count} of ${support} pictures of ${of} were called ${cell.label}`}
  >
    {cell.count === 0 ? <span className="hidden-text">0</span> : cell.count}
  </td>
);

const ClassTable = ({ evaluation }: { evaluation: EvaluationView }) => (
  <details open>
    <summary>
      <h3>By class</h3>
    </summary>
    <div className="table-scroll" role="region" aria-label="By class" tabIndex={0}>
      <table className="table table-close">
        <thead>
          <tr>
            <th scope="col">Class</th>
            <th scope="col" className="number">
              Precision
            </th>
            <th scope="col" className="number">
              Recall
            </th>
            <th scope="col" className="number">
              F1
            </th>
            <th scope="col" className="number">
              Pictures
            </th>
          </tr>
        </thead>
        <tbody>
          {evaluation.classes.map(({ label, precision, recall, f1, support }) => (
            <tr key={label}>
              <td>{label}</td>
              <td className="number">{percent(precision)}</td>
              <td className="number">{percent(recall)}</td>
              <td className="number">{percent(f1)}</td>
              <td className="number">{support}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  </details>
);

function Worst({ evaluation }: { evaluation: EvaluationView }) {
  const wrong = evaluation.worst.filter(
    ({ label, predicted, binary_data_id }) => label !== predicted && binary_data_id !== undefined,
  );
  if (wrong.length === 0) return null;
  return (
    <div className="stack-tight">
      <h3>What it got most wrong</h3>
      <ul className="pictures">
        {wrong.slice(0, 12).map((one) => (
          <li key={one.sha256}>
            <img
              src={`/data/${one.binary_data_id ?? ''}?width=200`}
              alt={one.file_name}
              loading="lazy"
              width={200}
              height={200}
            />
            <p className="small">
              {one.label}, called <strong>{one.predicted}</strong>{' '}
              <span className="soft">({percent(one.probability, 0)})</span>
            </p>
          </li>
        ))}
      </ul>
    </div>
  );
}
