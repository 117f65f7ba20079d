import type { Context } from '../../../core/index.js'
import { runOnLinks, withLinks, type Language } from '../../lib/syntax/index.js'
import { parseLazyMatch } from '../structural/lazy_match.js'
import type { OpenFile } from './program.js'

const script = ['statement_block', 'class_body']
/** Kinds of blocks whose end the parser adds where it is missing, which is no error node. */
const BLOCKS: Record<string, readonly string[] | undefined> = {
  javascript: script,
  typescript: script,
  tsx: script,
  go: ['block'],
  java: ['block', 'class_body'],
  c: ['compound_statement'],
  cpp: ['compound_statement', 'field_declaration_list'],
  csharp: ['block', 'declaration_list'],
  php: ['compound_statement', 'declaration_list'],
  swift: ['function_body', 'class_body'],
  kotlin: ['function_body', 'class_body'],
  ruby: ['method', 'class', 'module'],
  rust: ['block', 'declaration_list'],
}

function toFaultArguments({ id, title }: Language): string[] {
  const blocks = (BLOCKS[id] ?? []).map((kind) => ({ kind, has: { regex: '^$' } }))
  const rule = { id: 'fault', language: title, rule: { any: [{ kind: 'ERROR' }, ...blocks] } }
  return ['scan', '--inline-rules', JSON.stringify(rule), '--json=stream', '--color=never']
}

/** Finds open files with syntax errors, one run of the program per language. Returns their `ref`. */
export async function findBrokenFiles(context: Context, files: readonly OpenFile[]): Promise<Set<string>> {
  const broken = new Set<string>()
  const languages = new Map(files.map(({ language }) => [language.id, language]))
  await Promise.all(
    [...languages.values()].map(async (language) => {
      const extension = language.extensions[0]!
      const own = files.filter((file) => file.language.id === language.id).map(({ handle }) => ({ handle, extension }))
      await withLinks(own, extension, (linked) => {
        const refs = new Map(linked.names.map((name, index) => [name, own[index]!.handle.ref]))
        const take = (line: Buffer) => {
          const ref = readRef(line, refs)
          if (ref !== undefined) broken.add(ref)
        }
        return runOnLinks(context, toFaultArguments(language), own, linked, context.host.timeouts.engine, take)
      })
    }),
  )
  return broken
}

/** Returns the file of a line; `undefined` for an invalid one, as the outline itself checks the program. */
function readRef(line: Buffer, refs: ReadonlyMap<string, string>): string | undefined {
  try {
    return refs.get(parseLazyMatch(line, (name) => name).file)
  } catch {
    return undefined
  }
}
