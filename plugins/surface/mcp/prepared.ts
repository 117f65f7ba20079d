import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { homeOf, programFile, sealOf, sha256, version, writeStateSync } from '../../../core/base/index.js'
import { findRoot } from '../../../core/config/index.js'
import { signatureOf } from '../../../core/documents/index.js'

/** A request and its answer, both as text: the answer holds for a request that says the same. */
export interface Exchange {
  params: string
  result: string
}
/** How a conversation with this client begins, as it was had here before. */
export interface Beginning {
  initialize: Exchange
  list: Exchange
}
interface Kept extends Beginning {
  /** What the list was made from, and a digest that changes with any of it. */
  watched: readonly string[]
  signature: string
}

/** Where a beginning lies. */
export interface BeginningPlace {
  home: string
  root: string
  file: string
}

/** The beginnings that are kept, each of one workspace and one way to start. */
const KEPT = 50
const sort = 'mcp beginning'

/** What decides a list of tools beside the files that are watched. Words that bring more have no place: their list is made anew. */
export function placeOf(words: readonly string[]): BeginningPlace | undefined {
  const flags = flagsOf(words)
  if (!flags) return undefined
  try {
    const home = homeOf({ home: flags['--home'] })
    const root = flags['--workspace'] ?? findRoot(process.cwd(), home)
    const { mtimeMs, size } = statSync(programFile('manifests/_catalogue.json'))
    const said = Object.entries(process.env).filter(([name]) => name.startsWith('VTCODE_') || name === 'HOME').sort()
    const key = sha256(JSON.stringify([version, mtimeMs, size, programFile(), root, process.cwd(), words, said]))
    return { home, root, file: join(home, 'cache', 'beginnings', key.slice(0, 32)) }
  } catch {
    return undefined
  }
}

/** The folders that are named, where nothing is said that decides more than they do, a mode or a form of the list. */
function flagsOf(words: readonly string[]): Partial<Record<string, string>> | undefined {
  const flags: Record<string, string> = {}
  for (let at = 0; at < words.length; at++) {
    const [, flag = '', attached] = /^(--(?:workspace|home|mode))(?:=(.*))?$/s.exec(words[at]!) ?? []
    const value = attached ?? words[at + 1]
    if (flag && value) {
      flags[flag] = resolve(value)
      if (attached === undefined) at++
    } else if (words[at] !== '--lean' && words[at] !== '--structured') return undefined
  }
  return flags
}

/** What was kept, if it is ours and nothing has changed since. */
export function readBeginning({ home, root, file }: BeginningPlace): Beginning | undefined {
  try {
    const kept = sealOf(home, root).read(sort, file, readFileSync(file, 'utf8')) as Kept | undefined
    return kept && sha256(signatureOf(kept.watched)) === kept.signature ? kept : undefined
  } catch {
    return undefined
  }
}

/** Keeps a beginning for the next start. One that cannot be written costs time then, nothing else. */
export function keepBeginning({ home, root, file }: BeginningPlace, watched: readonly string[], { initialize, list }: Beginning): void {
  try {
    const kept: Kept = { initialize, list, watched, signature: sha256(signatureOf(watched)) }
    writeStateSync(file, sealOf(home, root).write(sort, file, kept), { durable: false })
    const folder = join(file, '..')
    const age = (name: string) => statSync(join(folder, name)).mtimeMs
    const names = readdirSync(folder)
    if (names.length > KEPT) for (const name of names.sort((a, b) => age(a) - age(b)).slice(0, names.length - KEPT)) rmSync(join(folder, name), { force: true })
  } catch {
    // The next start asks the kernel.
  }
}

export function forgetBeginning({ file }: BeginningPlace): void {
  try {
    rmSync(file, { force: true })
  } catch {
    // It is compared anew at the next start.
  }
}
