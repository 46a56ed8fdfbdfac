import { ReleaseService } from '@platform/contract/gen/platform/release/v1/release_pb';
import { useState } from 'react';
import { FormDialog } from '../../../ui/dialogs.tsx';
import { TextField } from '../../../ui/fields.tsx';
import { usePagedList } from '../../../ui/paged-list.tsx';
import { removeValue, setValue } from '../config-edit.ts';
import { defaultChoice, otherChoice, versionChoices } from '../version-choices.ts';
import type { InputProps } from './field-inputs.tsx';

/** The key of a version, and the program whose releases it chooses. */
export const versionPrograms = [
  { key: 'agent', name: 'platform-agent' },
  { key: 'platform-server', name: 'platform-server' },
] as const;

interface VersionInputProps extends InputProps {
  /** The program whose releases are offered. */
  name: string;
  /** For example linux/arm64; empty: unknown so far. */
  platform: string;
}

/** A version as a menu of what is published. */
export function VersionInput({ id, field, state, isWrong, text, onChange, name, platform }: VersionInputProps) {
  const list = usePagedList(ReleaseService.method.listReleases, (pageToken) => ({ pageToken }), { isWhole: true });
  const [isWriting, setWriting] = useState(false);
  const chosen = state.isSet ? state.text : defaultChoice;
  const choose = (choice: string): void => {
    if (choice === otherChoice) setWriting(true);
    else if (choice === defaultChoice) onChange(removeValue(text, state.path));
    else onChange(setValue(text, state.path, JSON.stringify(choice)));
  };
  return (
    <>
      <select
        id={id}
        className="select"
        value={chosen}
        aria-invalid={isWrong}
        aria-describedby={isWrong ? `${id}-help ${id}-wrong` : `${id}-help`}
        onChange={(event) => choose(event.target.value)}
      >
        {versionChoices(list.pages?.flatMap((page) => page.releases) ?? [], name, platform, chosen).map((one) => (
          <option key={one.value} value={one.value}>
            {one.text}
          </option>
        ))}
      </select>
      {isWriting && (
        <OtherVersion
          label={field.title}
          onClose={() => setWriting(false)}
          onChoose={(choice) => {
            choose(choice);
            setWriting(false);
          }}
        />
      )}
    </>
  );
}

interface OtherVersionProps {
  label: string;
  onChoose: (choice: string) => void;
  onClose: () => void;
}
function OtherVersion({ label, onChoose, onClose }: OtherVersionProps) {
  const [choice, setChoice] = useState('');
  const isUrl = /^(https?|file):/i.test(choice.trim());
  return (
    <FormDialog
      title={label}
      verb="Choose"
      isDisabled={choice.trim() === ''}
      onSubmit={() => onChoose(choice.trim())}
      onClose={onClose}
    >
      <TextField
        label="Version or address"
        value={choice}
        onChange={setChoice}
        placeholder="https://builds.example/program#sha256=…"
        hint={
          isUrl
            ? 'No release key signs such a file: saving it needs an owner, is taken as consent, and is recorded.'
            : 'A version such as 1.4.0, or the address of a file: https://…, or file:///… on the machine.'
        }
      />
    </FormDialog>
  );
}
