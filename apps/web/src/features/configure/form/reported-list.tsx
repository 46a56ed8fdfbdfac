import type { DrawnSchemas } from '../schema/attribute-schemas.ts';
import type { ConfigText } from '../config-edit.ts';
import type { Added } from '../config-parts.ts';
import { reportedParts } from './reported-parts.ts';
import { isolateText } from '../../../ui/user-text.ts';

interface ReportedPartsProps {
  schemas: DrawnSchemas;
  /** The machine has not reported, and is taken to run this server; undefined: its own. */
  assumedServer: string | undefined;
  config: ConfigText;
  onChoose: (added: Added | undefined) => void;
}

/** What the machine server of this machine can run, as choices of "Add". */
export const ReportedParts = ({ schemas, assumedServer, config, onChoose }: ReportedPartsProps) => (
  <div role="group" aria-labelledby="reported-parts" className="add-reported">
    <h3 id="reported-parts" className="soft small">
      {assumedServer === undefined ? 'What the server of this machine runs' : `What ${assumedServer} runs (assumed)`}
    </h3>
    {reportedParts(schemas).map(({ title, help, name, add }, at) => {
      const added = add(config);
      return (
        <button
          key={`${at}`}
          type="button"
          className="button button-quiet example"
          disabled={added === undefined}
          onClick={() => onChoose(added)}
        >
          <strong className="break">{title}</strong>
          <span className="soft small break">
            {isolateText(name)}
            {help && `: ${help}`}
          </span>
        </button>
      );
    })}
  </div>
);
