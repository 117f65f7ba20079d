import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { makeFolder } from '../../core/system/index.js'
import { codes, readContract, type ContributionInfo, type Io, type Kernel, type SlotInfo } from '../../core/index.js'
import { renderPlainText } from '../../core/input/index.js'
import { factTable, outcomeTable, turnBounds } from '../agent/cli/index.js'
import { runCommand, say, createVerb } from '../lib/terminal/index.js'

/** Runs `vtcode docs`: writes the pages generated from manifests, settings and error codes. */
export default async function docs(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = createVerb(
    'docs',
    'Write the generated pages of this project: manifests/README.md, docs/errors.md, the tables of ' +
      'docs/agent-loop.md and docs/settings.md, the skill plugin-author.',
    io,
  )
    .option('--check', 'check them and write nothing')
    .action(async ({ check = false }: { check?: boolean }) => void (code = await write(kernel, check, io)))
  return runCommand(command, argv, () => code)
}

async function write(kernel: Kernel, check: boolean, io: Io): Promise<number> {
  const root = kernel.workspace
  if (!isProject(root)) {
    say(io, 'error', `${root} is not the source of vtcode. Run this in a checkout of vtcode.`)
    return 2
  }
  const builtin = kernel.inspection.contributions().filter(({ layer }) => layer === 'builtin')
  const slots = kernel.list().filter(({ chain }) => chain.some((id) => id.startsWith('builtin:')))
  const stale: string[] = []
  const pages = [
    ['manifests/README.md', () => renderCatalogue(builtin, slots)],
    ['docs/errors.md', () => renderErrorPage(builtin)],
    ['docs/agent-loop.md', renderLoopPage],
    ['docs/settings.md', renderSettingsPage],
    [
      'skills/plugin-author/SKILL.md',
      (before: string) => renderAuthorSkill(before, read(join(root, 'docs/plugins.md'))),
    ],
  ] as const
  for (const [name, make] of pages) {
    const before = read(join(root, name))
    const after = await make(before)
    if (after === before) continue
    stale.push(name)
    if (check) continue
    makeFolder(dirname(join(root, name)))
    writeFileSync(join(root, name), after)
  }
  if (!check) io.stdout.write(stale.length === 0 ? 'All pages are up to date.\n' : `Written: ${stale.join(', ')}.\n`)
  else if (stale.length > 0) say(io, 'error', `Stale: ${stale.join(', ')}. Write them with \`npm run docs\`.`)
  return check && stale.length > 0 ? 1 : 0
}

function isProject(root: string): boolean {
  return read(join(root, 'package.json')).includes('"name": "vtcode"') && read(join(root, 'core/README.md')) !== ''
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

function renderCatalogue(builtin: ContributionInfo[], slots: SlotInfo[]): string {
  const tools = [...new Set(slots.map(({ tool }) => tool))].map((tool) => {
    const rows = slots
      .filter((slot) => slot.tool === tool)
      .map(({ action, slot, effects, description, chain }) => [
        action ?? '–',
        effects.join(', ') || 'none',
        takeFirstSentence(description),
        renderHandlers(chain, builtin, slot),
      ])
    return `## ${tool}\n\n${renderTable(['action', 'effects', 'purpose', 'served by'], rows)}`
  })
  const others = builtin
    .filter(({ kind }) => kind !== 'action')
    .map((one) => [one.kind, one.verb ?? toShortName(one), takeFirstSentence(one.description ?? ''), renderFile(one)])
  return `# Manifests

The tools and other contributions of vtcode. Each file is data that names a module in \`plugins/\`;
[\`schema/manifest.1.json\`](schema/manifest.1.json) defines the format. \`npm run docs\` generates this page.

${tools.join('\n')}
## Policies, compactors, adapters, surfaces

${renderTable(['kind', 'name', 'purpose', 'manifest'], others)}`
}

function renderHandlers(chain: readonly string[], builtin: ContributionInfo[], slot: string): string {
  return chain
    .flatMap((id) => builtin.filter((one) => one.id === id && one.slot === slot))
    .map((one) => `${renderFile(one)}${one.stage === 'primary' ? '' : ` (${one.stage})`}`)
    .join(', ')
}

const toShortName = ({ id }: ContributionInfo): string => id.slice(id.indexOf(':') + 1)
/** Names a manifest without a link: the package ships the page, and the manifests in another folder. */
const renderFile = (one: ContributionInfo): string =>
  `\`${relative(join(one.file.slice(0, one.file.lastIndexOf('/manifests/')), 'manifests'), one.file)}\``
const takeFirstSentence = (text: string): string =>
  /^[\s\S]*?[.!?](?=\s|$)/.exec(text.trim())?.[0].replace(/\s+/g, ' ') ?? text.trim()

function renderErrorPage(builtin: ContributionInfo[]): string {
  const core = Object.entries(codes).map(
    ([code, [message, hint, retryable]]: [string, readonly [string, string, true?]]) => [
      `\`${code}\``,
      message,
      renderPlainText(hint),
      retryable ? 'yes' : '',
    ],
  )
  const own = new Map<string, { message: string; hint: string; retryable: boolean; slots: string[] }>()
  for (const one of builtin) {
    for (const [code, { message = '', hint = '', retryable = false }] of Object.entries(one.errors ?? {})) {
      if (!own.has(code)) own.set(code, { message, hint, retryable, slots: [] })
      own.get(code)!.slots.push(one.slot ?? `${one.kind} ${toShortName(one)}`)
    }
  }
  const rest = [...own]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([code, { message, hint, retryable, slots }]) => [
      `\`${code}\``,
      slots.join(', '),
      message,
      renderPlainText(hint),
      retryable ? 'yes' : '',
    ])
  return `# Error codes

The codes of failed calls, diagnostics and notices. A code never changes its meaning.
\`npm run docs\` generates this page.

## Kernel

${renderTable(['code', 'message', 'what to do next', 'may pass later'], core)}
## Manifests

${renderTable(['code', 'slot', 'message', 'what to do next', 'may pass later'], rest)}`
}

/** Fills the tables of the page about the agent loop; people write its text. */
const renderLoopPage = (page: string): string =>
  fillTables(page, {
    facts: () =>
      renderTable(
        ['fact', 'what it says', 'on disk'],
        Object.entries(factTable).map(([kind, { description: says, on_disk }]) => [`\`${kind}\``, says, on_disk]),
      ),
    limits: () =>
      renderTable(
        ['setting', 'what it bounds in a turn'],
        turnBounds.map(({ setting, says }) => [`\`${setting}\``, says]),
      ),
    outcomes: () =>
      renderTable(
        ['outcome', 'when', 'what to do next', 'subtype', 'exit code'],
        Object.entries(outcomeTable).map(([code, { description: says, next = '', subtype, exit_code, codes = [] }]) => [
          `\`${code}\``,
          [says, ...codes.map((one) => `\`${one}\``)].join(' '),
          next,
          `\`${subtype}\``,
          String(exit_code),
        ]),
      ),
  })

const renderSettingsPage = (page: string): string =>
  fillTables(page, {
    settings: () =>
      renderTable(
        ['key', 'default', 'in a repository', 'value'],
        listSettingRows(readContract('config.1.json') as SettingNode, [], 'free'),
      ),
  })

/**
 * Builds the skill plugin-author from docs/plugins.md. Keeps the front matter and removes links to files outside the
 * skill.
 */
function renderAuthorSkill(before: string, page: string): string {
  const [front = ''] = /^---\n[\s\S]*?\n---\n/.exec(before) ?? []
  const body = page
    .replace(/^<!-- [\s\S]*?-->\n/gm, '')
    .replace(/^```console.*$/gm, '```console not-executed')
    .replaceAll('](../skills/plugin-author/', '](')
    .replace(/\[([^\]]+)\]\((?!references\/|#|https?:)[^)]+\)/g, '$1')
  return `${front}<!-- Made from docs/plugins.md by \`npm run docs\`. Change that, not this. -->\n\n${body}`
}

interface SettingNode {
  type?: string
  description?: string
  default?: unknown
  enum?: string[]
  minimum?: number
  maximum?: number
  properties?: Record<string, SettingNode>
  'x-workspace'?: string
}
/** Lists one row for each key with a value. Keys inherit `x-workspace` of their section. */
function listSettingRows(node: SettingNode, path: string[], above: string): string[][] {
  const repository = node['x-workspace'] ?? above
  if (node.properties)
    return Object.entries(node.properties).flatMap(([key, inside]) =>
      listSettingRows(inside, [...path, key], repository),
    )
  const bounds = [
    ...(node.minimum === undefined ? [] : [`at least ${node.minimum}`]),
    ...(node.maximum === undefined ? [] : [`at most ${node.maximum}`]),
  ].join(', ')
  const kind = node.enum
    ? node.enum.map((one) => `\`${one}\``).join(', ')
    : [node.type ?? '', bounds].filter(Boolean).join(', ')
  return [
    [
      `\`${path.join('.')}\``,
      node.default === undefined || node.default === null ? '' : `\`${JSON.stringify(node.default)}\``,
      repository,
      [kind, node.description].filter(Boolean).join('. '),
    ],
  ]
}

function fillTables(page: string, made: Record<string, () => string>): string {
  return page.replace(
    /(<!-- table: (\w+) -->\n)[\s\S]*?(<!-- end -->)/g,
    (whole, begin: string, name: string, end: string) => (made[name] ? `${begin}${made[name]()}${end}` : whole),
  )
}

function renderTable(head: string[], rows: string[][]): string {
  const formatRow = (cells: string[]) =>
    `| ${cells.map((cell) => cell.replace(/\s+/g, ' ').replaceAll('|', '\\|')).join(' | ')} |\n`
  return formatRow(head) + `|${head.map(() => '---|').join('')}\n` + rows.map(formatRow).join('')
}
