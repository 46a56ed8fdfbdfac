import { callUnaryMethod, useTransport } from '@connectrpc/connect-query';
import { parseObject } from '@platform/contract/text/json-object';
import { readFragmentUses } from '@platform/contract/config/fragments';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { createContext, use, useMemo } from 'react';
import type { ReactNode } from 'react';
import { NamedFragment, useDefaultsCount } from './default-source.tsx';
import { ChevronIcon, FragmentIcon } from '../../../ui/icons.tsx';
import { OpensLater } from '../../../ui/loaded-later.tsx';
import { jsonAt, removeValue } from '../config-edit.ts';
import type { ConfigText } from '../config-edit.ts';
import { countSet } from './form-rows.ts';
import { addFragment, contentsOf, fragmentValues, shortValue, usedFragments } from '../fragments/fragment-values.ts';
import type { FragmentValue, UsedFragment } from '../fragments/fragment-values.ts';
import type { JsonPath } from '../schema/json-path.ts';

interface FragmentsOfDraft {
  used: readonly UsedFragment[];
  valueAt: (path: JsonPath) => FragmentValue | undefined;
}

/** The calls of public clients are many: they are fetched where a machine has fragments. */
const appMethods = async () => (await import('@platform/contract/gen/platform/app/v1/app_pb')).AppService.method;

const context = createContext<FragmentsOfDraft>({ used: [], valueAt: () => undefined });

/** Knows what the fragments of a draft give, for the form below it. */
export function FragmentsOfMachine({
  machineId,
  draft,
  children,
}: {
  machineId: string;
  draft: string;
  children: ReactNode;
}) {
  // As text: a keystroke elsewhere asks for nothing again.
  const named = useMemo(() => JSON.stringify(namedIn(draft)), [draft]);
  const transport = useTransport();
  const query = useQuery({
    queryKey: ['machine-fragments', machineId, named],
    enabled: named !== '[]',
    retry: false,
    refetchOnWindowFocus: false,
    queryFn: async ({ signal }) => {
      const additionalFragments = JSON.parse(named) as { fragmentId: string; version: string }[];
      const { listMachineFragments } = await appMethods();
      return callUnaryMethod(transport, listMachineFragments, { machineId, additionalFragments }, { signal });
    },
  });
  const known = query.data?.fragments;
  const value = useMemo((): FragmentsOfDraft => {
    const used = usedFragments(draft, known ?? []);
    return { used, valueAt: used.length === 0 ? () => undefined : fragmentValues(draft, used) };
  }, [draft, known]);
  return <context.Provider value={value}>{children}</context.Provider>;
}

const namedIn = (draft: string) =>
  readFragmentUses(parseObject(draft) ?? {}).uses.map(({ id, version }) => ({
    fragmentId: id,
    version: version === undefined ? '' : String(version),
  }));

/** What a fragment gives to a field. */
export const useFragmentValue = (path: JsonPath): FragmentValue | undefined => use(context).valueAt(path);

/** How much of a group is set, by the machine and by its fragments. */
export function useGroupSummary(config: ConfigText, path: JsonPath, fields: readonly { key: string }[]): string {
  const { valueAt } = use(context);
  const set = countSet(config, path);
  const isFree = ({ key }: { key: string }): boolean => jsonAt(config.json, [...path, key]) === undefined;
  const given = fields.filter((field) => isFree(field) && valueAt([...path, field.key]) !== undefined).length;
  const free = fields.filter((field) => isFree(field) && valueAt([...path, field.key]) === undefined);
  const ofDevice = useDefaultsCount(
    path,
    free.map(({ key }) => key),
  );
  const counts = [
    set > 0 && `${set} set`,
    given > 0 && `${given} from fragments`,
    ofDevice > 0 && `${ofDevice} of the device`,
  ].filter(Boolean);
  return counts.length === 0 ? 'all default' : counts.join(', ');
}

/** Where the value of a field without one of the machine comes from. @param otherwise - what holds if no fragment sets it */
export function FieldSource({ from: found, otherwise }: { from: FragmentValue | undefined; otherwise: ReactNode }) {
  if (!found) return otherwise;
  return (
    <span className="source-fragment break">
      <FragmentIcon />
      From <FragmentLink id={found.fragmentId} name={found.name} />: {shortValue(found.value)}
    </span>
  );
}

const FragmentLink = ({ id, name }: { id: string; name: string }) => (
  <Link to="/fragments/$fragmentId" params={{ fragmentId: id }}>
    <bdi>{name}</bdi>
  </Link>
);

interface ConfigFragmentsProps {
  draft: string;
  isDisabled: boolean;
  onChange: (draft: string) => void;
}

/** The fragments of the machine: with links, to add and to remove. */
export function ConfigFragments({ draft, isDisabled, onChange }: ConfigFragmentsProps) {
  const { used } = use(context);
  return (
    <section className="card" aria-label="Fragments">
      <div className="card-head">
        <h2>Fragments</h2>
        <span className="soft small">Own values come first.</span>
        <AddFragment draft={draft} used={used} isDisabled={isDisabled} onChange={onChange} />
      </div>
      <NamedFragment
        used={used.map(({ id }) => id)}
        onUse={isDisabled ? undefined : (id) => onChange(addFragment(draft, id))}
      />
      {used.length > 0 && (
        <ul className="effect-list">
          {used.map((one, at) => (
            <li key={one.path} className="row">
              <FragmentIcon />
              <span className="stack-tight">
                <FragmentLink id={one.id} name={one.fragment?.name ?? one.id} />
                <span className="soft small break">{descriptionOf(one)}</span>
              </span>
              <button
                type="button"
                className="button button-quiet button-small push"
                disabled={isDisabled}
                onClick={() => onChange(removeValue(draft, used.length === 1 ? ['fragments'] : ['fragments', at]))}
              >
                Remove<span className="hidden-text"> {one.fragment?.name ?? one.id}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

const descriptionOf = ({ fragment, version, prefix }: UsedFragment): string =>
  [
    fragment === undefined ? 'not known here' : `revision ${fragment.revision}`,
    version === undefined ? undefined : 'pinned',
    prefix === '' ? undefined : `prefix ${prefix}`,
    fragment && contentsOf(fragment.fragment ?? {}),
  ]
    .filter(Boolean)
    .join(' · ');

function AddFragment({ draft, used, isDisabled, onChange }: ConfigFragmentsProps & { used: readonly UsedFragment[] }) {
  const button = (
    <>
      Add a fragment
      <ChevronIcon />
    </>
  );
  return (
    <OpensLater
      name="fragments to add"
      load={() => import('../fragments/fragment-menu.tsx')}
      button={button}
      className="button button-small push"
      kind="menu"
      isDisabled={isDisabled}
    >
      {({ FragmentMenu }) => (
        <FragmentMenu
          button={button}
          isDisabled={isDisabled}
          used={used.map(({ id }) => id)}
          onAdd={(id) => onChange(addFragment(draft, id))}
        />
      )}
    </OpensLater>
  );
}
