import { Card } from '../../ui/layout.tsx';
import { Note } from '../../ui/messages.tsx';
import type { EvaluationView, HeatCell, Mistake } from '../../entities/training-job/evaluations.ts';
import { formatCount } from '../../ui/quantities.ts';
import { isolateText } from '../../ui/user-text.ts';
import { UserText } from '../../ui/isolated-text.tsx';
import '../../ui/style/training.css';

/** The scores of the model on held-out images, and its mistakes. */
export function EvaluationReport({ evaluation }: { evaluation: EvaluationView }) {
  const { images } = evaluation;
  return (
    <Card
      title="Evaluation"
      hint={
        <>
          on {formatCount(evaluation.count, 'image')} that training never saw
          {evaluation.heldOut === 'validation' &&
            ' but that chose its best epoch: add test images for a figure to rely on'}
        </>
      }
    >
      <div className="card-body">
        <div className="figures">
          {evaluation.figures.map((one) => (
            <Figure key={one.name} {...one} />
          ))}
        </div>
        {evaluation.crossValidation && <p className="small">{evaluation.crossValidation}</p>}
        {evaluation.heat.length > 0 && <HeatTable evaluation={evaluation} />}
        {evaluation.classes.rows.length > 0 && <ClassTable evaluation={evaluation} />}
        {evaluation.scores.length > 1 && (
          <p className="small soft">
            {evaluation.scores.map(({ name, value }) => `${name} ${value}`).join(' · ')}; chosen on validation:{' '}
            {evaluation.chosen}
          </p>
        )}
        {evaluation.count > 0 && (
          <p className="small soft">
            In brackets: the 95 % interval for this number of images. On fewer than 20, a share is shown as a count.
            {evaluation.latencies.length > 0 && ` One prediction: ${evaluation.latencies.join('; ')}.`}
          </p>
        )}
        {evaluation.unlike && <p className="small soft">{evaluation.unlike}</p>}
        <TextList texts={evaluation.int8} label="INT8" />
        <TextList texts={evaluation.networks} label="Networks" />
        {evaluation.advice.map((text) => (
          <Note key={text} tone="busy">
            <p>{text}</p>
          </Note>
        ))}
        {evaluation.skipped.length > 0 && <Skipped evaluation={evaluation} />}
        {evaluation.mistakes.length > 0 && <Mistakes mistakes={evaluation.mistakes} />}
        {images && (
          <p className="small soft">
            Images: {images.train} to train, {images.validation} to choose the best epoch, {images.test} to test.
            {evaluation.side !== undefined && ` Seen at ${evaluation.side} × ${evaluation.side} px.`}
            {evaluation.pretrained && ` Started from ${evaluation.pretrained}.`}
            {evaluation.device && ` ${evaluation.device}`}
          </p>
        )}
      </div>
    </Card>
  );
}

function TextList({ texts, label }: { texts: readonly string[]; label: string }) {
  if (texts.length === 0) return null;
  return (
    <ul className="small soft" aria-label={label}>
      {texts.map((text) => (
        <li key={text}>{text}</li>
      ))}
    </ul>
  );
}

function Skipped({ evaluation }: { evaluation: EvaluationView }) {
  return (
    <Note tone="warn">
      <p>{formatCount(evaluation.images?.skipped ?? evaluation.skipped.length, 'image')} could not be used:</p>
      <ul className="small soft">
        {evaluation.skipped.slice(0, 10).map(({ file_name, reason }) => (
          <li key={file_name} className="break">
            <UserText text={file_name} />: {reason}
          </li>
        ))}
      </ul>
    </Note>
  );
}

/** The interval of a score is smaller and below it. */
function Figure({ name, value }: { name: string; value: string }) {
  const [score, interval] = value.split(/ (?=\()/);
  return (
    <div className="figure">
      <strong className="numbers">{score}</strong>
      {interval !== undefined && <span className="small soft numbers">{interval}</span>}
      <span className="small soft">{name}</span>
    </div>
  );
}

function HeatTable({ evaluation }: { evaluation: EvaluationView }) {
  return (
    <div className="stack-tight">
      <h3 id="confusion">Confusion matrix</h3>
      <p className="small soft">Rows: what the image shows. Columns: what the model predicted.</p>
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

/**
 * From this share on, a cell is strongly coloured and takes the other text colour. The scale skips the shades on which
 * neither colour is readable.
 */
const strongShare = 0.6;
const strengthOf = (share: number): number => Math.round(share >= strongShare ? 84 + share * 16 : 10 + share * 60);

const Heat = ({ cell, of, support }: { cell: HeatCell; of: string; support: number }) => (
  <td
    className={`numbers${cell.share >= strongShare ? ' heat-dark' : ''}${cell.isRight ? ' heat-right' : ''}`}
    style={cell.count === 0 ? {} : { backgroundColor: `rgb(var(--heat) / ${strengthOf(cell.share)}%)` }}
    title={`${cell.count} of ${support} images of ${isolateText(of)} were called ${isolateText(cell.label)}`}
  >
    {cell.count === 0 ? <span className="hidden-text">0</span> : cell.count}
  </td>
);

const ClassTable = ({ evaluation: { classes } }: { evaluation: EvaluationView }) => (
  <details open>
    <summary>
      <h3>By class</h3>
    </summary>
    <div className="table-scroll" role="region" aria-label="By class" tabIndex={0}>
      <table className="table">
        <thead>
          <tr>
            <th scope="col">Class</th>
            {classes.columns.map((name) => (
              <th key={name} scope="col" className="number">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {classes.rows.map(({ label, cells }) => (
            <tr key={label}>
              <td>{label}</td>
              {cells.map((cell, at) => (
                <td key={classes.columns[at]} className="number">
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  </details>
);

/** More rows add no information. */
const mostMistakes = 12;

const Mistakes = ({ mistakes }: { mistakes: readonly Mistake[] }) => {
  const hasBoxes = mistakes.some((one) => one.boxes.length > 0);
  return (
    <div className="stack-tight">
      <h3>What it got most wrong</h3>
      {hasBoxes && (
        <p className="small soft row">
          <span className="box-key box-missed">there, not found</span>
          <span className="box-key box-wrong">found, not there</span>
        </p>
      )}
      <ul className={hasBoxes ? 'images images-large' : 'images'}>
        {mistakes.slice(0, mostMistakes).map((one) => (
          <li key={one.binaryDataId}>
            {hasBoxes ? <Boxed mistake={one} /> : <Thumbnail mistake={one} />}
            <p className="small">
              {hasBoxes ? (
                <>
                  missed: {one.truth} <span className="soft">· predicted: {one.predicted}</span>
                </>
              ) : (
                <>
                  {one.truth}, called <strong>{one.predicted}</strong>
                </>
              )}
            </p>
          </li>
        ))}
      </ul>
    </div>
  );
};

const Thumbnail = ({ mistake: { binaryDataId, fileName } }: { mistake: Mistake }) => (
  <img src={`/data/${binaryDataId}?width=200`} alt={fileName} loading="lazy" width={200} height={200} />
);

/** The whole image with missed and wrong boxes. */
const Boxed = ({ mistake: { binaryDataId, fileName, boxes } }: { mistake: Mistake }) => (
  <div className="boxed">
    <img src={`/data/${binaryDataId}?width=800`} alt={fileName} loading="lazy" />
    <svg viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true" focusable="false">
      {boxes.map((box, at) => (
        <rect
          key={`${at} ${box.is}`}
          className={`box-${box.is}`}
          x={box.x * 100}
          y={box.y * 100}
          width={box.width * 100}
          height={box.height * 100}
        />
      ))}
    </svg>
  </div>
);
