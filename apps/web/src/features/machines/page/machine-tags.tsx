import { useMutation, useQuery } from '@connectrpc/connect-query';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { readTag } from '@platform/contract/machine/tags';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { TextField } from '../../../ui/fields.tsx';
import { FormDialog } from '../../../ui/dialogs.tsx';
import { CrossIcon, PlusIcon } from '../../../ui/icons.tsx';
import { FailureNote } from '../../../ui/messages.tsx';
import { useSession } from '../../../entities/session/session.tsx';

/** The tags of a machine: each leads to the machines that have it. */
export function MachineTags({ machineId, tags }: { machineId: string; tags: readonly string[] }) {
  const [isAdding, setAdding] = useState(false);
  // What the last change returned holds until the machine is read again with other tags.
  const [changed, setChanged] = useState<{ before: string; tags: readonly string[] }>();
  const change = useMutation(FleetService.method.tagMachine, {
    onSuccess: (answer) => {
      setChanged({ before: tags.join(), tags: answer.tags });
      setAdding(false);
    },
  });
  const shown = changed?.before === tags.join() ? changed.tags : tags;
  return (
    <div className="row tags">
      {shown.map((tag) => (
        <span key={tag} className="tag">
          <Link to="/machines" search={{ q: `tag:${tag}` }}>
            {tag}
          </Link>
          <button
            type="button"
            aria-label={`Remove the tag ${tag}`}
            onClick={() => change.mutate({ id: machineId, remove: [tag] })}
          >
            <CrossIcon />
          </button>
        </span>
      ))}
      <button type="button" className="button button-quiet button-small" onClick={() => setAdding(true)}>
        <PlusIcon />
        Add tag
      </button>
      {isAdding && (
        <AddTag
          error={change.error}
          onAdd={(tag) => change.mutate({ id: machineId, add: [tag] })}
          onClose={() => setAdding(false)}
        />
      )}
      {change.error && !isAdding && <FailureNote error={change.error} />}
    </div>
  );
}

interface AddTagProps {
  error: unknown;
  onAdd: (tag: string) => void;
  onClose: () => void;
}

function AddTag({ error, onAdd, onClose }: AddTagProps) {
  const { organizationId } = useSession().organization;
  const [text, setText] = useState('');
  const known = useQuery(FleetService.method.listMachineFacets, { organizationId, fields: ['tag'] });
  const read = readTag(text);
  return (
    <FormDialog
      title="Add a tag"
      verb="Add tag"
      isDisabled={!('tag' in read)}
      error={error}
      onSubmit={() => 'tag' in read && onAdd(read.tag)}
      onClose={onClose}
    >
      <TextField
        label="Tag"
        value={text}
        onChange={setText}
        isFocused
        list={(known.data?.facets[0]?.values ?? []).map(({ value }) => value)}
        {...(text !== '' && 'problem' in read
          ? { problem: `${read.problem}.` }
          : { hint: 'Letters, digits and . _ : / -' })}
      />
    </FormDialog>
  );
}
