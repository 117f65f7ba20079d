import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTempFolder } from '../../lib/base/index.js'
import { languageByName, loadScriptRules, unmarkItems, type OutlineItem } from '../../lib/syntax/index.js'
import { createDeclarationRules, nameMembers } from './declarations/extractors.js'

export interface ProgramRules {
  /** Arguments of `ast-grep outline` that name the rules. */
  rules: string[]
  /** Completes the items that the rules find. */
  settle: (items: OutlineItem[]) => OutlineItem[]
}

/** Returns the rules of a language for the program, and what completes its items. */
export function resolveRules(id: string): ProgramRules {
  const file = writeRules(id)
  if (file === undefined) return { rules: [], settle: (items) => items }
  return {
    rules: ['--no-default-outline-rules', '--outline-rules', file],
    settle: loadScriptRules(languageByName(id)!) ? unmarkItems : nameMembers,
  }
}

const files = new Map<string, string>()

/** Returns the file with the rules of this project. Writes it once, and again if it was removed. */
function writeRules(id: string): string | undefined {
  const language = languageByName(id)!
  const scripts = loadScriptRules(language)?.map(({ needs: _, ...extractor }) => extractor)
  const rules = scripts ?? createDeclarationRules(id, language.title)
  if (!rules) return undefined
  let file = files.get(id)
  if (file === undefined || !existsSync(file)) {
    file = join(createTempFolder('rules'), `${id}.yml`)
    writeFileSync(file, rules.map((rule) => JSON.stringify(rule)).join('\n---\n'))
    files.set(id, file)
  }
  return file
}
