import type { Theme } from './theme.js'

type Highlighter = (typeof import('./languages.js'))['highlighter']
let loaded: Highlighter | undefined
let loading: Promise<void> | undefined

/** Loads the languages, once; until then code has no colors. */
export const loadHighlighter = (): Promise<void> =>
  (loading ??= import('./languages.js').then(({ highlighter }) => void (loaded = highlighter)))

const MAX_CHARACTERS = 100_000

/** Code in colors, a line each; without them where the language is not known, or the code is very long. */
export function highlightLines(code: string, language: string | undefined, theme: Theme): string[] {
  const plain = (): string[] => code.split('\n').map(theme.cyan)
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

/** What the highlighter says with elements of HTML, in styles; each line has its own, so that it can stand alone. */
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
