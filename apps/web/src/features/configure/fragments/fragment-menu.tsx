import { useQuery } from '@connectrpc/connect-query';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { DropdownMenu } from 'radix-ui';
import type { ReactNode } from 'react';
import { useSession } from '../../../entities/session/session.tsx';

interface FragmentMenuProps {
  button: ReactNode;
  isDisabled: boolean;
  /** Fragments that are there already. */
  used: readonly string[];
  onAdd: (id: string) => void;
}

/** The fragments that a machine can have; it begins open. */
export function FragmentMenu({ button, isDisabled, used, onAdd }: FragmentMenuProps) {
  const { organizationId } = useSession().organization;
  const list = useQuery(AppService.method.listFragments, { organizationId });
  const others = list.data?.fragments.filter(({ id }) => !used.includes(id)) ?? [];
  return (
    <DropdownMenu.Root defaultOpen>
      <DropdownMenu.Trigger className="button button-small push" disabled={isDisabled}>
        {button}
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className="menu" align="end" sideOffset={4} collisionPadding={8}>
          {others.map(({ id, name }) => (
            <DropdownMenu.Item key={id} className="menu-item" onSelect={() => onAdd(id)}>
              <bdi>{name}</bdi>
            </DropdownMenu.Item>
          ))}
          {others.length === 0 && (
            <DropdownMenu.Item className="menu-item soft" disabled>
              {list.error ? 'The fragments were not loaded.' : list.data ? 'No other fragments' : 'Loading …'}
            </DropdownMenu.Item>
          )}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}
