import { DropdownMenu } from 'radix-ui';
import { CheckIcon } from '../../../ui/icons.tsx';
import { ColumnWords } from './column-words.tsx';
import { machineColumns, shownColumns, toggledColumn } from './machine-columns.ts';

/** Which columns the table has; the URL keeps them. It begins open. */
export function ColumnMenu({ columns, onColumns }: { columns: string; onColumns: (columns: string) => void }) {
  const shown = shownColumns(columns);
  return (
    <DropdownMenu.Root defaultOpen>
      <DropdownMenu.Trigger className="button not-narrow">
        <ColumnWords />
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className="menu" align="end" sideOffset={4}>
          {machineColumns
            .filter(({ key }) => key !== 'name')
            .map((column) => (
              <DropdownMenu.CheckboxItem
                key={column.key}
                className="menu-item menu-check"
                checked={shown.includes(column)}
                onCheckedChange={() => onColumns(toggledColumn(columns, column.key))}
                // Several are chosen in one go.
                onSelect={(event) => event.preventDefault()}
              >
                <DropdownMenu.ItemIndicator className="menu-mark">
                  <CheckIcon />
                </DropdownMenu.ItemIndicator>
                {column.text}
              </DropdownMenu.CheckboxItem>
            ))}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}
