import { appendFileSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { isObject } from '../../../core/shapes/index.js'
import { makeFolder, writeStateSync } from '../../../core/system/index.js'
import { redactText } from '../../../core/text/index.js'
import type { Kernel } from '../../../core/index.js'

const most = { bytes: 1_000_000, shown: 500, text: 20_000 }
const fileOf = (home: string): string => join(home, 'chat_history.jsonl')

/** What the person said in earlier chats, the newest last; what was said in this folder comes after everything else. */
export function saidBefore({ workspace, inspection: { home } }: Kernel): string[] {
  const entries = linesOf(fileOf(home)).flatMap((line) => {
    try {
      const entry: unknown = JSON.parse(line)
      return isObject(entry) && typeof entry['text'] === 'string'
        ? [{ here: entry['workspace'] === workspace, text: entry['text'] }]
        : []
    } catch {
      return []
    }
  })
  const texts = [...entries.filter(({ here }) => !here), ...entries.filter(({ here }) => here)].map(({ text }) => text)
  return [...new Set(texts.toReversed())].slice(0, most.shown).reverse()
}

/** Keeps it for chats to come, without secrets. Where that cannot be, it is not kept. */
export function keepSaid({ workspace, inspection: { home } }: Kernel, text: string): void {
  const file = fileOf(home)
  try {
    makeFolder(home, 0o700)
    if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > most.bytes)
      writeStateSync(file, linesOf(file).slice(-most.shown).join('\n'), { durable: false })
    appendFileSync(file, `${JSON.stringify({ workspace, text: redactText(text.slice(0, most.text)) })}\n`, {
      mode: 0o600,
    })
  } catch {
    // A home that cannot be written keeps nothing.
  }
}

function linesOf(file: string): string[] {
  try {
    return statSync(file).isFile() ? readFileSync(file, 'utf8').split('\n') : []
  } catch {
    return []
  }
}
