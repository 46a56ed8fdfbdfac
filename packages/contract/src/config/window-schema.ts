// The schema of one maintenance window, of which a configuration has one or a list.
import { z } from 'zod';
import { first, type Notes, text } from './field-kinds.ts';

const weekDays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
const clockTime = { pattern: /^(?:[01]\d|2[0-3]):[0-5]\d$/, expected: 'a time from 00:00 to 23:59, such as 02:30' };

export const maintenanceWindow = z
  .looseObject({
    days: z
      .array(z.enum(weekDays))
      .min(1)
      .default([...weekDays])
      .meta({
        ...first,
        title: 'Days',
        description: 'Days on which the window begins.',
        defaultText: 'every day',
        expected: 'a list of mon, tue, wed, thu, fri, sat, sun',
        beyondSpec: true,
      } satisfies Notes),
    from: z
      .string()
      .regex(clockTime.pattern)
      .meta({
        ...first,
        title: 'From',
        description: 'Time at which it begins.',
        expected: clockTime.expected,
        beyondSpec: true,
      } satisfies Notes),
    to: z
      .string()
      .regex(clockTime.pattern)
      .optional()
      .meta({
        ...first,
        title: 'To',
        description:
          'Time at which it ends; on the next day when it is earlier than `from`. Give either `to` or `duration_minutes`.',
        expected: clockTime.expected,
        beyondSpec: true,
      } satisfies Notes),
    duration_minutes: z
      .int()
      .min(1)
      .max(7 * 24 * 60)
      .optional()
      .meta({
        ...first,
        title: 'Duration',
        description: 'How long it is open, in place of `to`.',
        unit: 'min',
        beyondSpec: true,
      } satisfies Notes),
    time_zone: text('UTC', {
      ...first,
      title: 'Time zone',
      description:
        'Time zone of the times by its IANA name, such as Europe/Berlin; "device": the time zone that the machine is set to.',
      expected: 'an IANA time zone, such as Europe/Berlin, or "device"',
      beyondSpec: true,
    }),
  })
  .meta({
    title: 'Maintenance windows',
    description:
      'When the agent may restart the machine server for a new version, restart itself for one, or reboot. One window, or a list of up to 32. Without a window, here or as a reading of the machine server, a new version waits for the next restart.',
  });
