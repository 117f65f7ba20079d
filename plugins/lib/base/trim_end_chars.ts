/**
 * Removes these characters from the end of a text. A regular expression such as `/ +$/` restarts at every character of
 * a long run: half a megabyte of hostile input takes minutes.
 */
export function trimEndChars(text: string, characters: string): string {
  let end = text.length
  while (end > 0 && characters.includes(text[end - 1]!)) end--
  return text.slice(0, end)
}
