/**
 * A text without these characters at its end. A regular expression such as `/ +$/` begins anew at every character of a long run that something
 * follows: of a file, a patch or an output of somebody hostile, half a megabyte takes it minutes.
 */
export function trimEndChars(text: string, characters: string): string {
  let end = text.length
  while (end > 0 && characters.includes(text[end - 1]!)) end--
  return text.slice(0, end)
}
