// Prints the names that the files declare, as rustc reads them before it expands macros: one JSON line per file.
// Reads the syntax tree that rustc prints: one line for each part, two levels by four blanks.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

function parseTree(text) {
  const root = { text: '', parts: [] }
  const open = [root]
  for (const line of text.split('\n')) {
    const depth = line.length - line.trimStart().length
    if (line.trim() === '' || depth % 4 !== 0) continue
    const part = { text: line.trim(), parts: [] }
    open.length = depth / 4 + 1
    open.at(-1)?.parts.push(part)
    open.push(part)
  }
  return root
}

const isName = ({ text }) => /^(?:r#)?\w+#\d+,$/.test(text)
const toName = (text) => text.replace(/#\d+,$/, '')
const find = (part, start) => part?.parts.find(({ text }) => text.startsWith(start))
/** Returns the name of a part: its own, in a field, or that of its first part. */
function readName(part) {
  const field =
    find(part, 'ident: ') ?? part.parts.flatMap(({ parts }) => parts).find(({ text }) => text.startsWith('ident: '))
  if (field?.text === 'ident: None,') return undefined
  if (field?.text.startsWith('ident: Some(')) return toName(field.parts[0].text)
  if (field) return toName(field.text.slice('ident: '.length))
  const own = part.parts.find(isName)
  return own && toName(own.text)
}

/** Returns the parts of a kind outside of others of it. */
function* listParts(part, starts) {
  for (const child of part.parts) {
    if (starts.some((start) => child.text.startsWith(start))) yield child
    else yield* listParts(child, starts)
  }
}

const NAMED = ['Fn', 'Const', 'Static', 'TyAlias', 'Type', 'MacroDef']
function* listNames(part, prefix) {
  for (const item of listParts(part, ['Item {'])) {
    const kind = find(item, 'kind: ')
    const word = /^kind: (\w+)/.exec(kind?.text ?? '')?.[1]
    if (NAMED.includes(word)) {
      const name = readName(kind)
      if (name !== '_') yield prefix + name
    } else if (['Mod', 'Trait'].includes(word)) {
      const name = readName(kind)
      yield prefix + name
      yield* listNames(kind, `${prefix}${name}.`)
    } else if (['Struct', 'Union', 'Enum'].includes(word)) {
      const name = readName(kind)
      yield prefix + name
      for (const member of listParts(kind, ['FieldDef {', 'Variant {'])) {
        const own = readName(member)
        if (own !== undefined && /^\w+$/.test(own) && !/^\d+$/.test(own)) yield `${prefix}${name}.${own}`
      }
    } else if (word === 'ForeignMod') yield* listNames(kind, prefix)
    else if (word === 'Impl') {
      const [type] = listParts(kind, ['self_ty: '])
      const segments = [...listParts(type, ['PathSegment {'])]
      const name =
        segments.length > 0 ? readName(segments.filter((one) => one.depth === segments[0].depth).at(-1)) : '?'
      yield* listNames({ parts: kind.parts.filter((one) => one !== type) }, `${prefix}${name}.`)
    }
  }
}

for (const path of process.argv.slice(2)) {
  const input = readFileSync(path, 'utf8').replace(/^(\s*(?:pub(?:\([^)]*\))? )?mod \w+);/gm, '$1 {}')
  const { stdout, stderr, status } = spawnSync('rustc', ['-Zunpretty=ast-tree', '--edition=2024', '-'], {
    env: { ...process.env, RUSTC_BOOTSTRAP: '1' },
    input,
    encoding: 'utf8',
    maxBuffer: 1e9,
  })
  if (status !== 0) throw new Error(`${path}: ${stderr.slice(0, 500)}`)
  console.log(JSON.stringify({ path, names: [...listNames(parseTree(stdout), '')] }))
}
