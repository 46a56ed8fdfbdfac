import { useMutation } from '@connectrpc/connect-query';
import { AppService, Visibility } from '@platform/contract/gen/platform/app/v1/app_pb';
import type { RegistryItem } from '@platform/contract/gen/platform/app/v1/app_pb';
import { useState } from 'react';
import { FormDialog } from '../../../ui/dialogs.tsx';
import { visibilityTexts } from './scripts.ts';
import { SelectField, TextField } from '../../../ui/fields.tsx';

const visibilities = [Visibility.PRIVATE, Visibility.PUBLIC, Visibility.PUBLIC_UNLISTED] as const;

/** Description and visibility of a model or a script. */
export function EditItem({ item, onClose }: { item: RegistryItem; onClose: () => void }) {
  const [description, setDescription] = useState(item.description);
  const [url, setUrl] = useState(item.url);
  const [visibility, setVisibility] = useState<Visibility>(item.visibility);
  const change = useMutation(AppService.method.updateRegistryItem, { onSuccess: onClose });
  const isUndescribed = visibility !== Visibility.PRIVATE && description.trim() === '';
  const save = (): void =>
    change.mutate({
      itemId: item.itemId,
      type: item.type,
      description: description.trim(),
      url: url.trim(),
      visibility,
      ...(item.metadata.case === 'mlTrainingMetadata' && {
        metadata: {
          case: 'updateMlTrainingMetadata' as const,
          value: {
            modelType: item.metadata.value.modelType,
            modelFramework: item.metadata.value.modelFramework,
            draft: item.metadata.value.draft,
          },
        },
      }),
    });
  return (
    <FormDialog
      title={item.name}
      verb="Save"
      isDisabled={isUndescribed || change.isPending}
      error={change.error}
      onSubmit={save}
      onClose={onClose}
    >
      <TextField
        label="Description"
        value={description}
        onChange={setDescription}
        problem={isUndescribed ? 'Whatever others can see needs a description.' : undefined}
      />
      <TextField label="Page about it" value={url} onChange={setUrl} placeholder="https://" />
      <SelectField
        label="Visible to"
        value={String(visibility)}
        onChange={(value) => setVisibility(visibilities.find((one) => String(one) === value) ?? visibility)}
        options={visibilities.map((one) => ({ value: String(one), text: visibilityLabels[one] ?? '' }))}
      />
    </FormDialog>
  );
}

const visibilityLabels: Readonly<Record<number, string>> = {
  [Visibility.PRIVATE]: 'the organization (private)',
  [Visibility.PUBLIC]: `everybody on this server (${visibilityTexts[Visibility.PUBLIC]})`,
  [Visibility.PUBLIC_UNLISTED]: 'everybody who knows its name (not listed)',
};
