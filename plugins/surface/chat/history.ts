import { appendFileSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { isObject } from '../../../core/shapes/index.js'
import { makeFolder, writeStateSync } from '../../../core/system/index.js'
import { redactText } from '../../../core/text/index.js'
import type { Kernel } from '../../../core/index.js'

const LIMITS = { bytes: 1_000_000, shown: 500, text: 20_000 }
const resolveHistoryFile = (home: string): string => join(home, 'chat_history.jsonl')

/** Reads messages of earlier chats, the newest last; those of this workspace come after all others. */
export function readHistory({ workspace, inspection: { home } }: Kernel): string[] {
  const entries = readLines(resolveHistoryFile(home)).flatMap((line) => {
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
  return [...new Set(texts.toReversed())].slice(0, LIMITS.shown).reverse()
}

/** Appends a message to the history, with secrets redacted. Ignores write errors. */
export function appendHistory({ workspace, inspection: { home } }: Kernel, text: string): void {
  const file = resolveHistoryFile(home)
  try {
    makeFolder(home, 0o700)
    if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > LIMITS.bytes)
      writeStateSync(file, readLines(file).slice(-LIMITS.shown).join('\n'), { durable: false })
    appendFileSync(file, `${JSON.stringify({ workspace, text: redactText(text.slice(0, LIMITS.text)) })}\n`, {
      mode: 0o600,
    })
  } catch {
    // The home folder is not writable.
  }
}

function readLines(file: string): string[] {
  try {
    return statSync(file).isFile() ? readFileSync(file, 'utf8').split('\n') : []
  } catch {
    return []
  }
}
