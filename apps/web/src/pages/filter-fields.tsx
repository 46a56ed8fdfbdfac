import { queryFields } from '@platform/contract/machine-fields';

/** The fields that the list of machines can be filtered by, each with an example. */
export const FilterFields = () => (
  <dl className="pair-list">
    {Object.entries(queryFields).map(([name, { description }]) => (
      <div key={name}>
        <dt className="mono">{name}</dt>
        <dd className="break">{description}</dd>
      </div>
    ))}
  </dl>
);
