import { showable } from '@platform/contract/names';

/** What somebody called a thing, beside words of ours: neither its direction nor its marks reach the text around it. */
export const UserText = ({ text }: { text: string }) => <bdi>{showable(text)}</bdi>;
