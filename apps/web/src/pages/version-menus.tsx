import { ReleaseService } from '@platform/contract/gen/platform/release/v1/release_pb';
import { versionOf, withVersion } from '@platform/contract/version-pin';
import type { ProgramName } from '@platform/contract/version-pin';
import { useState } from 'react';
import { FormFoot, Sheet } from '../parts/dialogs.tsx';
import { usePagedList } from '../parts/paged-list.tsx';
import { otherChoice, versionChoices } from '../view/version-choices.ts';
import { SelectField, TextField } from './submit-fields.tsx';

interface VersionMenusProps {
  /** JSON. */
  draft: string;
  /** For example linux/arm64; empty: not known yet. */
  platform: string;
  onChange: (draft: string) => void;
}
const programs = [
  { program: 'agent', name: 'platform-agent', label: 'Agent version' },
  { program: 'server', name: 'platform-server', label: 'Machine server version' },
] as const;

/** The two versions of the configuration as menus; a choice changes the text beside them, and is saved with it. */
export function VersionMenus({ draft, platform, onChange }: VersionMenusProps) {
  const list = usePagedList(ReleaseService.method.listReleases, (pageToken) => ({ pageToken }), { isWhole: true });
  const [writing, setWriting] = useState<ProgramName>();
  const config = JSON.parse(draft) as unknown;
  const choose = (program: ProgramName, wish: string): void => {
    if (wish === otherChoice) setWriting(program);
    else if (wish !== versionOf(config, program)) onChange(withVersion(draft, program, wish));
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
          onChange={(wish) => choose(program, wish)}
        />
      ))}
      {writing !== undefined && (
        <OtherVersion
          label={programs.find(({ program }) => program === writing)?.label ?? ''}
          onClose={() => setWriting(undefined)}
          onChoose={(wish) => {
            choose(writing, wish);
            setWriting(undefined);
          }}
        />
      )}
    </div>
  );
}

interface OtherVersionProps {
  label: string;
  onChoose: (wish: string) => void;
  onClose: () => void;
}
function OtherVersion({ label, onChoose, onClose }: OtherVersionProps) {
  const [wish, setWish] = useState('');
  const isAddress = /^(https?|file):/i.test(wish.trim());
  return (
    <Sheet title={label} isOpen onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          onChoose(wish.trim());
        }}
      >
        <TextField
          label="Version or address"
          value={wish}
          onChange={setWish}
          placeholder="https://builds.example/program#sha256=…"
          hint={
            isAddress
              ? 'No release key signs such a file: saving it needs an owner, is taken as consent, and is recorded.'
              : 'A version such as 1.4.0, or the address of a file: https://…, or file:///… on the machine.'
          }
        />
        <FormFoot verb="Choose" isDisabled={wish.trim() === ''} onClose={onClose} />
      </form>
    </Sheet>
  );
}
