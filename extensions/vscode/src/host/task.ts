/** The words of a task, from what a person wrote and mentioned. Pure. */
import type { Mention } from '../view/messages';

export function taskOf(text: string, mentions: readonly Mention[]): string {
  if (mentions.length === 0) return text;
  return `${text}\n\nMentioned: ${mentions.map((one) => `\`${one.reference}\``).join(', ')}`;
}
