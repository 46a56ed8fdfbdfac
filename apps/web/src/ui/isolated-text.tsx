import { showable } from '@platform/contract/text/names';

/** A name that a user chose, inside our text: its direction and control characters do not affect the text around it. */
export const UserText = ({ text }: { text: string }) => <bdi>{showable(text)}</bdi>;
