import type { JsonObject, Mode } from '../../core/index.js'

/** One line of a `jsonl` block: files to write, calls to make first, the call, and what must come of it. */
export interface Example {
  call: [tool: string, input?: unknown]
  with?: Record<string, string>
  before?: [tool: string, input?: unknown][]
  output?: JsonObject
  error?: JsonObject
  notices?: string[]
  text?: string
  content?: unknown[]
  files?: Record<string, string | null>
  needs?: string[]
  mode?: Mode
  /** Where it stands: number of the section, line of the document, and the slot that the headings name. */
  section: string
  line: number
  slot: string
}

/** The examples of a document, or of one numbered section without its subsections. */
export function readExamples(markdown: string, section?: string): Example[] {
  const examples: Example[] = []
  let number = ''
  let tool: string | undefined
  let actions: string[] = []
  let fence = ''
  markdown.split('\n').forEach((line, index) => {
    const heading = fence ? null : /^(##|###) ([\d.]+?)\.? (.*)$/.exec(line)
    if (heading) {
      number = heading[2]!
      const names = [...heading[3]!.matchAll(/`(\w+)`/g)].map((match) => match[1]!)
      if (heading[1] === '##') [tool, actions] = [names[0], []]
      else actions = names
    }
    if (line.startsWith('```')) fence = fence ? '' : line
    else if (fence === '```jsonl' && (section === undefined || section === number)) {
      const example = JSON.parse(line) as Omit<Example, 'section' | 'line' | 'slot'>
      examples.push({ ...example, section: number, line: index + 1, slot: slotOf(example.call, tool, actions) })
    }
  })
  return examples
}

function slotOf([tool, input]: Example['call'], owner: string | undefined, actions: string[]): string {
  const named = (input as JsonObject | undefined)?.action
  const action = actions.find((name) => name === named) ?? actions[0]
  return tool === owner && action ? `${tool}/${action}` : tool
}
