/** The first difference of a replay. */
export interface Difference {
  turn: number
  /** The number of the answer in the session, from 1. */
  step: number
  part: 'prompt' | 'tools' | 'options' | 'messages' | 'result'
  /** The differing place, as words: `tool search`, `message 5: result of search`. */
  where: string
  recorded: string
  present: string
}

/** Characters of each side before and after the first different one. */
const CONTEXT = { before: 40, after: 120 }

/** Returns both texts around their first difference. */
export function cutToDifference(recorded: string, present: string): Pick<Difference, 'recorded' | 'present'> {
  let at = 0
  while (at < recorded.length && recorded[at] === present[at]) at += 1
  const from = Math.max(0, at - CONTEXT.before)
  const cut = (text: string) =>
    `${from > 0 ? '…' : ''}${text.slice(from, at + CONTEXT.after)}${text.length > at + CONTEXT.after ? '…' : ''}`
  return { recorded: cut(recorded), present: cut(present) }
}

/** Returns the candidate with the longest common beginning and end; `undefined` if none has anything in common. */
export function findNearestText(text: string, candidates: Iterable<string>): string | undefined {
  let best: { candidate: string; common: number } | undefined
  for (const candidate of candidates) {
    const most = Math.min(text.length, candidate.length)
    let start = 0
    while (start < most && text[start] === candidate[start]) start += 1
    let end = 0
    while (end < most - start && text.at(-1 - end) === candidate.at(-1 - end)) end += 1
    if (start + end > (best?.common ?? 0)) best = { candidate, common: start + end }
  }
  return best?.candidate
}

interface Named {
  name: string
}

/** Compares two lists of tool definitions in canonical form; names the first tool that differs. */
export function compareTools(
  recorded: string,
  present: string,
): Pick<Difference, 'where' | 'recorded' | 'present'> | undefined {
  if (recorded === present) return undefined
  const [before, after] = [parseTools(recorded), parseTools(present)]
  for (const name of [...new Set([...before.keys(), ...after.keys()])].sort()) {
    const [one, other] = [before.get(name), after.get(name)]
    if (one === other) continue
    if (other === undefined) return { where: `tool ${name}`, recorded: 'offered', present: 'no longer offered' }
    if (one === undefined) return { where: `tool ${name}`, recorded: 'not offered', present: 'offered' }
    return { where: `tool ${name}`, ...cutToDifference(one, other) }
  }
  return { where: 'the order of the tools', ...cutToDifference(recorded, present) }
}

const parseTools = (text: string): Map<string, string> =>
  new Map((JSON.parse(text) as Named[]).map((tool) => [tool.name, JSON.stringify(tool)]))
