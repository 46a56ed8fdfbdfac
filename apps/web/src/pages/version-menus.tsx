import { ReleaseService } from '@platform/contract/gen/platform/release/v1/release_pb';
import { versionOf, withVersion } from '@platform/contract/version-pin';
import type { ProgramName } from '@platform/contract/version-pin';
import { useState } from 'react';
import { FormDialog } from '../parts/dialogs.tsx';
import { usePagedList } from '../parts/paged-list.tsx';
import { otherChoice, versionChoices } from '../view/version-choices.ts';
import { SelectField, TextField } from '../parts/fields.tsx';

interface VersionMenusProps {
  /** JSON. */
  draft: string;
  /** For example linux/arm64; empty: unknown so far. */
  platform: string;
  onChange: (draft: string) => void;
}
const programs = [
  { program: 'agent', name: 'platform-agent', label: 'Agent version' },
  { program: 'server', name: 'platform-server', label: 'Machine server version' },
] as const;

/** The two versions of the configuration as menus; a choice changes the text in the editor, and is saved with it. */
export function VersionMenus({ draft, platform, onChange }: VersionMenusProps) {
  const list = usePagedList(ReleaseService.method.listReleases, (pageToken) => ({ pageToken }), { isWhole: true });
  const [writing, setWriting] = useState<ProgramName>();
  const config = JSON.parse(draft) as unknown;
  const choose = (program: ProgramName, choice: string): void => {
    if (choice === otherChoice) setWriting(program);
    else if (choice !== versionOf(config, program)) onChange(withVersion(draft, program, choice));
  };
  return (
    <div className="form-grid">
      {programs.map(({ program, name, label }) => (
        <SelectField
          key={program}
          label={label}
          value={versionOf(config, program)}
          options={versionChoices(
            list.pages?.flatMap((page) => page.releases) ?? [],
            name,
            platform,
            versionOf(config, program),
          )}
          onChange={(choice) => choose(program, choice)}
        />
      ))}
      {writing !== undefined && (
        <OtherVersion
          label={programs.find(({ program }) => program === writing)?.label ?? ''}
          onClose={() => setWriting(undefined)}
          onChoose={(choice) => {
            choose(writing, choice);
            setWriting(undefined);
          }}
        />
      )}
    </div>
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
