// Objects of this process that a service on the bus calls: their properties, their methods, and the list of them all.
import type { CallHandler, Reply } from './bus.ts';
import { BusError } from './connection.ts';
import { type DBusValue, Variant } from './values.ts';

export interface BusObject {
  path: string;
  interface: string;
  properties: ReadonlyMap<string, Variant>;
  methods?: Readonly<Record<string, (body: readonly DBusValue[]) => Promise<Reply> | Reply>>;
}

const errors = 'org.freedesktop.DBus.Error';
export const propertiesName = 'org.freedesktop.DBus.Properties';
const managerName = 'org.freedesktop.DBus.ObjectManager';
export const noReplyBody: Reply = { signature: '', body: [] };

/** Answers calls to the objects that exist now. `root`: of the object manager, which lists the objects below it. */
export const objectsHandler =
  (root: string, objects: () => readonly BusObject[]): CallHandler =>
  ({ path, interface: of, member, body }) => {
    if (of === managerName && member === 'GetManagedObjects' && path === root) return managed(root, objects());
    const object = objects().find((one) => one.path === path);
    if (!object) throw new BusError(`${errors}.UnknownObject`, `there is no object ${path}`);
    if (of === propertiesName) return property(object, member, body);
    const method = of === object.interface && Object.hasOwn(object.methods ?? {}, member) && object.methods?.[member];
    if (!method) throw new BusError(`${errors}.UnknownMethod`, `${path} has no method ${member}`);
    return method(body);
  };

function managed(root: string, objects: readonly BusObject[]): Reply {
  const below = objects.filter(({ path }) => path.startsWith(`${root}/`));
  const list = new Map(below.map((one) => [one.path, new Map([[one.interface, one.properties]])]));
  return { signature: 'a{oa{sa{sv}}}', body: [list] };
}

function property(object: BusObject, member: string, [of, name]: readonly DBusValue[]): Reply {
  if (of !== object.interface) throw new BusError(`${errors}.UnknownInterface`, `${object.path} has no such interface`);
  if (member === 'GetAll') return { signature: 'a{sv}', body: [object.properties] };
  const value = member === 'Get' && typeof name === 'string' ? object.properties.get(name) : undefined;
  if (!value) throw new BusError(`${errors}.UnknownProperty`, `${object.path} has no such property`);
  return { signature: 'v', body: [value] };
}
