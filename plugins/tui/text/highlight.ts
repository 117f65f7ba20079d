import type { Theme } from './theme.js'

type Highlighter = (typeof import('./languages.js'))['highlighter']
let loaded: Highlighter | undefined
let loading: Promise<void> | undefined

/** Loads the languages once; code has no colors before. */
export const loadHighlighter = (): Promise<void> =>
  (loading ??= import('./languages.js').then(({ highlighter }) => void (loaded = highlighter)))

const MAX_CHARACTERS = 100_000

/** Highlights code line by line; an unknown language or very long code gets `style` alone. */
export function highlightLines(
  code: string,
  language: string | undefined,
  theme: Theme,
  style: (line: string) => string = theme.cyan,
): string[] {
  const plain = (): string[] => code.split('\n').map(style)
  if (
    loaded === undefined ||
    theme.name === 'none' ||
    code.length > MAX_CHARACTERS ||
    language === undefined ||
    !loaded.getLanguage(language)
  )
    return plain()
  try {
    return colorHtml(loaded.highlight(code, { language, ignoreIllegals: true }).value, theme)
  } catch {
    return plain()
  }
}

const entities: Record<string, string> = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#x27;': "'", '&amp;': '&' }

/** Converts the HTML of the highlighter to styles; each line has complete styles. */
function colorHtml(html: string, theme: Theme): string[] {
  const open: ((text: string) => string)[] = []
  let line = ''
  const lines: string[] = []
  for (const [token] of html.matchAll(/<span class="([^"]*)">|<\/span>|\n|&(?:lt|gt|quot|#x27|amp);|[^<&\n]+|[<&]/g)) {
    if (token === '\n') line = (lines.push(line), '')
    else if (token === '</span>') open.pop()
    else if (token.startsWith('<span')) open.push(selectStyle(token, theme) ?? open.at(-1) ?? plain)
    else line += (open.at(-1) ?? plain)(entities[token] ?? token)
  }
  return [...lines, line]
}

const plain = (text: string): string => text

function selectStyle(element: string, theme: Theme): ((text: string) => string) | undefined {
  const kind = /hljs-([a-z]+)/.exec(element)?.[1] ?? ''
  if (/^(keyword|operator|built|meta|doctag|section)$/.test(kind)) return theme.magenta
  if (/^(string|regexp|addition|char)$/.test(kind)) return theme.green
  if (/^(comment|quote)$/.test(kind)) return theme.dim
  if (/^(number|literal|symbol|bullet|variable|template)$/.test(kind)) return theme.yellow
  if (/^(title|type|class|function|name|tag|attr|attribute|property|selector)$/.test(kind)) return theme.blue
  return kind === 'deletion' ? theme.red : undefined
}
