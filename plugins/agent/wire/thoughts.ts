/** A text of an answer that begins with thoughts between marks. */
export interface ThoughtfulText {
  thoughts: string
  text: string
}

const OPEN = /^\s*<think(?:ing)?>/
const CLOSE = /<\/think(?:ing)?>/
/** The end of thoughts whose first mark the template of the server left out: a line of its own. */
const BARE_CLOSE = /\n[^\S\n]*<\/think(?:ing)?>[^\S\n]*\n/

/**
 * Separates the thoughts at the start of a text from the answer, as models write them on servers that do not parse them
 * (DeepSeek R1, Qwen, MiniMax). Returns `undefined` for a text without thoughts.
 */
export function splitThoughts(whole: string): ThoughtfulText | undefined {
  const opened = OPEN.exec(whole)
  if (!opened) {
    const closed = BARE_CLOSE.exec(whole)
    return closed
      ? {
          thoughts: whole.slice(0, closed.index).trim(),
          text: whole.slice(closed.index + closed[0].length).trimStart(),
        }
      : undefined
  }
  const rest = whole.slice(opened[0].length)
  const closed = CLOSE.exec(rest)
  // An answer that ends within its thoughts has no text.
  if (!closed) return { thoughts: rest.trim(), text: '' }
  return { thoughts: rest.slice(0, closed.index).trim(), text: rest.slice(closed.index + closed[0].length).trimStart() }
}

/** Code of Markdown: fenced blocks, closed or not, and spans. Each run of marks is tried once, as a whole. */
const CODE = new RegExp(
  [
    /^ {0,3}(`{3,}(?!`)|~{3,}(?!~))[^\n]*\n[\s\S]*?(?:^ {0,3}\1[`~]*\s*$|$(?![\s\S]))/.source,
    /(?<!`)(?<run>`+)(?!`)[^\n]*?[^`\n]\k<run>(?!`)/.source,
  ].join('|'),
  'gm',
)
const CALL = /<invoke name=|<function=[\w.-]+>/

/** Returns whether a text calls a tool in writing, outside of quoted code. */
export function containsCallAsText(text: string): boolean {
  if (!text.includes('<')) return false
  const prose = text.replace(CODE, '`')
  return CALL.test(prose) || hasToolCall(prose)
}

/** Returns whether a tag `tool_call` has an end or a brace after it; the first tag decides for all. */
function hasToolCall(text: string): boolean {
  const tag = text.search(/<tool_call\b/)
  const end = tag < 0 ? -1 : text.indexOf('>', tag)
  return end >= 0 && /<\/tool_call>|\{/.test(text.slice(end + 1))
}
