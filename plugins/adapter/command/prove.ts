import { existsSync } from 'node:fs'
import { isAbsolute, resolve, win32 } from 'node:path'
import { isObject, isProgram, toText } from '../../../core/base/index.js'
import { VtError, type Contribution, type Fault, type Schema } from '../../../core/index.js'
import { declaredIn, parseReference, undeclared, type Piece } from '../../lib/values/index.js'
import { commandSettings } from './settings.js'
import { parseTemplate } from './template.js'

type Path = Fault['path']
/** What an element stands in: an `if`, which leaves out what is absent, or an `each`, which has items. */
interface Around {
  optional?: boolean
  item?: boolean
}

/** What would go wrong in calls of a manifest with `run`, found by reading it. */
export function commandFaults({ manifest, root, file }: Contribution, input: Schema): Fault[] {
  const reader = new Reader(input, (manifest.options ?? {}) as Schema)
  manifest.run!.slice(1).forEach((element, at) => reader.element(element, ['run', at + 1], {}))
  reader.program(manifest.run![0], root)
  reader.rest(manifest)
  return reader.faults.length > 0 ? reader.faults : whole(manifest.run!, input, manifest)
}

/** What the template refuses as a whole, such as a value that would be code. */
function whole(run: unknown[], input: Schema, manifest: Contribution['manifest']): Fault[] {
  try {
    parseTemplate(run, input, commandSettings(manifest).allow_dash)
    return []
  } catch (error) {
    if (!(error instanceof VtError)) throw error
    return [{ path: [error.message.startsWith('stdin') ? 'stdin' : 'run'], problem: error.message, fix: error.problem.hint }]
  }
}

class Reader {
  readonly faults: Fault[] = []
  constructor(
    private readonly input: Schema,
    private readonly options: Schema,
  ) {}

  /** One that the plugin brings; what the machine has of others is no fault of it. */
  program(name: unknown, root: string): void {
    if (typeof name !== 'string' || isAbsolute(name)) return
    const fix = 'Write a bare name, which is looked up on the search path, or ./ and a file of the plugin with slashes.'
    if (win32.isAbsolute(name) || name.includes('\\')) return this.say(['run', 0], `'${name}' is a path of Windows.`, fix)
    if (!name.includes('/')) return
    const file = resolve(root, name)
    if (!existsSync(file)) this.say(['run', 0], `'${name}' does not exist.`, 'Name a file of the plugin, relative to its folder.')
    else if (!isProgram(file)) this.say(['run', 0], `'${name}' is no executable file.`, `Set its executable bit, \`chmod +x ${name}\`, or name what runs it: [sh, '{$plugin_root}/${name.replace(/^\.\//, '')}'].`)
  }

  element(element: unknown, path: Path, around: Around): void {
    if (typeof element === 'string') return this.text(element, path, around)
    if (!isObject(element)) return
    const { if: condition, then, else: otherwise, each, args, json } = element
    if (typeof condition === 'string') this.known(condition, [...path, 'if'], around)
    if (typeof each === 'string') {
      const found = this.known(each, [...path, 'each'], around)
      if (found && found.type !== 'list' && found.type !== 'unknown') this.say([...path, 'each'], `\`each\` goes through {${each}}, which is not a list.`, `Declare '${each}' with \`type: array\`, or write '{${each}}'.`)
    }
    if (typeof json === 'string') this.there(json, [...path, 'json'], around)
    this.each(then, [...path, 'then'], { ...around, optional: true })
    this.each(otherwise, [...path, 'else'], { ...around, optional: true })
    this.each(args, [...path, 'args'], { ...around, item: true })
  }

  each(elements: unknown, path: Path, around: Around): void {
    if (Array.isArray(elements)) elements.forEach((one, at) => this.element(one, [...path, at], around))
  }

  text(source: string, path: Path, around: Around): void {
    for (const piece of piecesOf(source)) {
      if (piece.kind === 'special') this.option(piece.name, path)
      else if (piece.kind === 'spread') {
        const found = this.known(piece.path, path, around)
        if (found && found.type !== 'list' && found.type !== 'unknown') this.say(path, `{${piece.path}...} needs a list, and '${piece.path}' is not one.`, `Write '{${piece.path}}'.`)
      } else if (piece.kind === 'value') {
        const found = this.there(piece.path, path, around)
        if (found?.type === 'list') this.say(path, `{${piece.path}} is a list, and stands where one argument is.`, `Write '{${piece.path}...}' for one argument an item, or { json: ${piece.path} }.`)
        if (found?.type === 'object') this.say(path, `{${piece.path}} is an object, and stands where one argument is.`, `Write { json: ${piece.path} }, or name one of its properties.`)
      }
    }
  }

  /** What stands beside `run`. */
  rest({ stdin, cwd, env, allow_dash }: Contribution['manifest']): void {
    if (typeof stdin === 'string') for (const piece of piecesOf(stdin)) if (piece.kind === 'value') this.known(piece.path, ['stdin'], {}, 'stdin')
    if (isObject(stdin) && stdin['json'] !== '$input') this.known(toText(stdin['json']), ['stdin', 'json'], {}, 'stdin')
    if (isObject(cwd)) this.known(toText(cwd['input']), ['cwd', 'input'], {}, 'cwd')
    for (const [name, value] of Object.entries(isObject(env) ? env : {})) {
      if (isObject(value) && typeof value['input'] === 'string') this.known(value['input'], ['env', name], {}, `env.${name}`)
    }
    for (const [at, name] of ((allow_dash ?? []) as string[]).entries()) this.known(name, ['allow_dash', at], {}, 'allow_dash')
  }

  private option(name: string, path: Path): void {
    const [, option] = /^option\.(.+)$/.exec(name) ?? []
    if (option !== undefined && !declaredIn(this.options, option)) {
      this.say(path, `run refers to {$${name}}, and \`options\` does not declare '${option}'.`, `Declare it: \`options: { properties: { ${option}: { type: string } } }\`.`)
    }
  }

  private known(name: string, path: Path, { item }: Around, where = 'run') {
    if (item && name.split('.')[0] === 'item') return undefined
    const found = declaredIn(this.input, name)
    if (!found) this.faults.push(undeclared(path, name, this.input, where))
    return found
  }

  /** A value that has to be there whenever the tool is called. */
  private there(name: string, path: Path, around: Around) {
    const found = this.known(name, path, around)
    if (found && !found.always && !around.optional) {
      this.say(path, `{${name}} is optional, and a call without it would fail.`, `Add '${name}' to \`input.required\`, give it a default, or write { if: ${name}, then: ['{${name}}'] }.`)
    }
    return found
  }

  private say(path: Path, problem: string, fix: string): void {
    this.faults.push({ path, problem, fix })
  }
}

function piecesOf(source: string): Piece[] {
  try {
    return parseReference(source, () => new Error())
  } catch {
    return []
  }
}
