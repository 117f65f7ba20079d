import type { SgNode } from '@ast-grep/napi'
import { createPauser } from '../base/index.js'
import { shortenName } from './outline.js'
import type { Member, OutlineItem } from './types.js'
import { createPositions, type Positions } from './positions.js'

const elements = ['element', 'script_element', 'style_element'].map((kind) => ({ kind }))
const withId = {
  rule: {
    any: elements,
    has: { kind: 'start_tag', has: { kind: 'attribute', has: { kind: 'attribute_name', regex: '^id$' } } },
  },
}
const conditions = [{ kind: 'media_statement' }, { kind: 'supports_statement' }]
const conditional = { rule: { kind: 'rule_set', inside: { kind: 'block', inside: { any: conditions } } } }
const CONDITIONAL_RULES = /@(?:media|supports)\b/i

/** Returns the elements of a page with an id; `undefined` where only tree-sitter can read the page. */
export async function outlinePage(root: SgNode, text: string): Promise<OutlineItem[] | undefined> {
  if (isUnsound(root, text)) return undefined
  const at = createPositions(text)
  return collectItems(root.findAll(withId), (node) => {
    const name = findId(node)
    return name === undefined ? undefined : toItem(node, 'object', name, at)
  })
}

/** Returns the rules of a style sheet, nested in media rules; `undefined` where only tree-sitter can read it. */
export async function outlineStyles(root: SgNode, text: string): Promise<OutlineItem[] | undefined> {
  if (isUnsound(root, text)) return undefined
  const at = createPositions(text)
  return collectItems(root.namedChildren(), (node) => {
    const kind = STYLE_KINDS[node.kind() as string]
    if (!kind) return undefined
    const name =
      kind === 'namespace'
        ? readFirstLine(node).split('{', 1)[0]!.trimEnd()
        : findChild(node, kind === 'class' ? 'selectors' : 'keyframes_name')?.text()
    return name === undefined
      ? undefined
      : toItem(
          node,
          kind,
          name,
          at,
          CONDITIONAL_RULES.test(node.text()) ? node.findAll(conditional).flatMap(toMembers) : [],
        )
  })
}
const STYLE_KINDS: Record<string, string | undefined> = {
  rule_set: 'class',
  media_statement: 'namespace',
  supports_statement: 'namespace',
  keyframes_statement: 'object',
}

async function collectItems(
  nodes: SgNode[],
  convert: (node: SgNode) => OutlineItem | undefined,
): Promise<OutlineItem[]> {
  const items: OutlineItem[] = []
  const pause = createPauser()
  for (const node of nodes) {
    const item = convert(node)
    if (item) items.push(item)
    await pause()
  }
  return items
}

/** Returns whether a text does not parse or begins with a byte order mark. */
const isUnsound = (root: SgNode, text: string): boolean =>
  text.startsWith('\uFEFF') || root.find({ rule: { kind: 'ERROR' } }) !== null

const findChild = (node: SgNode, kind: string): SgNode | undefined =>
  node.namedChildren().find((child) => child.is(kind))

/** Returns the value of an id, quoted ones first. Scripts and styles have quoted ids only. */
function findId(node: SgNode): string | undefined {
  const attributes = findChild(node, 'start_tag')!
    .namedChildren()
    .filter((child) => child.is('attribute') && findChild(child, 'attribute_name')?.text() === 'id')
  const quoted = attributes
    .flatMap((one) => findChild(one, 'quoted_attribute_value') ?? [])
    .flatMap((value) => findChild(value, 'attribute_value') ?? [])
  const bare = node.is('element') ? attributes.flatMap((one) => findChild(one, 'attribute_value') ?? []) : []
  return [...quoted, ...bare][0]?.text()
}

function toMembers(node: SgNode): Member[] {
  const name = findChild(node, 'selectors')?.text()
  return name === undefined
    ? []
    : [
        {
          role: 'member',
          kind: 'class',
          name: unquote(name),
          signature: readFirstLine(node),
          isPublic: true,
          line_number: node.range().start.line + 1,
        },
      ]
}

const readFirstLine = (node: SgNode): string => node.text().slice(0, 400).split('\n', 1)[0]!.trim()

const unquote = (name: string): string => shortenName(name.replace(/^(['"])(.*)\1$/s, '$2'))

function toItem(node: SgNode, kind: string, name: string, at: Positions, members: Member[] = []): OutlineItem {
  const { start, end } = node.range()
  const range = at.range({ start, end })
  const astKind = node.kind() as string
  return {
    role: 'item',
    kind,
    name: unquote(name),
    signature: readFirstLine(node),
    astKind,
    isImport: false,
    isExported: true,
    line_number: start.line + 1,
    end_line: end.line + 1,
    range,
    members,
  }
}
