import { readFileSync } from 'node:fs'

/** The fenced blocks of a page that a reader may try. */
export interface Shown {
  /** Blocks that name a file, with what stands in it. */
  files: { file: string; text: string }[]
  /** What is typed, and what is printed then; an ellipsis stands for whatever is of no interest there. */
  steps: { command: string; output: string }[]
}
export function shownIn(page: string): Shown {
  const blocks = [...readFileSync(page, 'utf8').matchAll(/^```(\w+)(?: file=(\S+))?\n([\s\S]*?)^```$/gm)].map(([, language, file, text]) => ({ language, file, text: text! }))
  const typed = blocks.filter(({ language }) => language === 'console').flatMap(({ text }) => text.split(/^\$ /m).slice(1))
  return {
    files: blocks.flatMap(({ file, text }) => (file === undefined ? [] : [{ file, text }])),
    steps: typed.map((step) => {
      const [command, ...output] = step.split('\n')
      return { command: command!, output: output.join('\n').trimEnd() }
    }),
  }
}

/** Whether something was printed as a page shows it. */
export function asShown(output: string): RegExp {
  const parts = output.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('[\\s\\S]*')}$`)
}
