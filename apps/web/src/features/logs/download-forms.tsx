import { DropdownMenu } from 'radix-ui';
import { downloadForms, type DownloadForm } from './log-download.ts';
import { DownloadWords } from './download-words.tsx';

/** In which form lines are saved; it begins open. */
export const DownloadForms = ({ onChoose }: { onChoose: (form: DownloadForm) => void }) => (
  <DropdownMenu.Root defaultOpen>
    <DropdownMenu.Trigger className="button button-small">
      <DownloadWords />
    </DropdownMenu.Trigger>
    <DropdownMenu.Portal>
      <DropdownMenu.Content className="menu" align="end" sideOffset={4}>
        {downloadForms.map((form) => (
          <DropdownMenu.Item key={form.extension} className="menu-item" onSelect={() => onChoose(form)}>
            {form.text}
          </DropdownMenu.Item>
        ))}
      </DropdownMenu.Content>
    </DropdownMenu.Portal>
  </DropdownMenu.Root>
);
