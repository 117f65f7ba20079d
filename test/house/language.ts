import ts from 'typescript'

// The rules of names, comments and texts. `language.test.ts` holds every file to them; its list of exceptions may only shrink.

/** Kinds of findings in a file of the program, in the order of the table in the exceptions. */
export const KINDS = ['names', 'comments', 'widths', 'words'] as const
export type Kind = (typeof KINDS)[number]

export interface Finding {
  readonly kind: Kind
  /** 1-based. */
  readonly line: number
  readonly text: string
}

const MAX_WIDTH = 120
const IRREGULAR_PARTICIPLES = new Set(
  (
    'told said held kept known shown made found gone lent left given taken spelt spoken bound drawn meant seen written ' +
    'begun chosen driven hidden laid stood thrown torn worn heard built bent lost met paid sold shrunk spent struck ' +
    'taught understood won withheld brought bought caught felt'
  ).split(' '),
)
const VERBS_IN_ED = new Set(['need', 'feed', 'seed', 'embed', 'exceed', 'proceed', 'speed'])
const PREDICATE_VERBS = new Set(['is', 'has', 'can', 'should'])
const PREPOSITION_LAST = /(?:Of|In|For|From|At|By|Within|Behind|Beside|Before|After|On)$/
const PRONOUN_FIRST =
  /^(?:What|Who|Whoever|Whose|Whom|Nobody|It|They|This|That|These|Those|He|She|Which|Whatever|Whether|How|Why|Where|When|None|Something|Somebody|Nothing|Others?)$/
/** Words with a plain counterpart, as they stand in prose. */
const BANNED_IN_TEXT = new RegExp(
  '\\b(?:told|tells?|telling|said|spoken|lent|faces?|whoever|nobody|strangers?|brings?|bringing|brought|standing|' +
    'stands? on|beside|behind|aside|owed|going on|goes on|as it (?:is|was)|anew|at hand|mend(?:s|ed|ing)?|' +
    'looks? at|looking at|comes? of|held against)\\b',
  'i',
)
const BANNED_IN_NAMES = new Set(
  'told tell tells said spoken lent face faces whoever nobody stranger strangers bring brings brought standing beside behind aside owed anew mend mends mended'.split(
    ' ',
  ),
)

const splitName = (name: string): string[] => name.split(/(?=[A-Z])|_/).map((word) => word.toLowerCase())

/** Returns whether the name of a function begins with a participle or ends with a preposition, instead of beginning with a verb. */
export function isRiddle(name: string): boolean {
  const [first = ''] = splitName(name)
  if (PREDICATE_VERBS.has(first)) return false
  const isParticiple =
    IRREGULAR_PARTICIPLES.has(first) || (first.endsWith('ed') && first.length > 4 && !VERBS_IN_ED.has(first))
  return isParticiple || PREPOSITION_LAST.test(name)
}

/** Returns whether a title of a test begins with a verb in the third person. */
export const isPlainTitle = (title: string): boolean =>
  /^[a-z]+(?:es|s)\b/.test(title) && !/^(?:is|was|its|this|does|has|as)\b/.test(title)

/** Returns the first banned word of a text. */
export const findBannedWord = (text: string): string | undefined => BANNED_IN_TEXT.exec(text)?.[0]

/** Returns what a source file has against the rules: names of functions, beginnings of comments, widths, banned words. */
export function findFindings(source: ts.SourceFile): Finding[] {
  const text = source.text
  const found: Finding[] = []
  const lineAt = (position: number): number => source.getLineAndCharacterOfPosition(position).line + 1
  text.split('\n').forEach((line, index) => {
    if (line.length > MAX_WIDTH) found.push({ kind: 'widths', line: index + 1, text: line.trim() })
    const first = /^\s*(?:\/\/|\/\*\*?|\*)\s*([A-Za-z]+)/.exec(line)?.[1]
    const isThe = /^\s*(?:\/\/|\/\*\*?|\*)\s*The same\b/.test(line)
    if (first && (PRONOUN_FIRST.test(first) || isThe))
      found.push({ kind: 'comments', line: index + 1, text: line.trim() })
  })
  for (const { start, text: comment } of commentsOf(source)) {
    const word = findBannedWord(comment)
    if (word) found.push({ kind: 'words', line: lineAt(start), text: `comment: ${word}` })
  }
  const visit = (node: ts.Node): void => {
    const name = functionName(node)
    if (name && isRiddle(name.text)) found.push({ kind: 'names', line: lineAt(name.getStart(source)), text: name.text })
    const declared =
      ts.isIdentifier(node) && (node.parent as { name?: ts.Node }).name === node && !isMember(node.parent)
    if (declared && splitName(node.text).some((word) => BANNED_IN_NAMES.has(word)))
      found.push({ kind: 'words', line: lineAt(node.getStart(source)), text: `name: ${node.text}` })
    if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node) || ts.isTemplateExpression(node)) {
      const said = node.getText(source)
      const word = /\s/.test(said) ? findBannedWord(said) : undefined
      if (word) found.push({ kind: 'words', line: lineAt(node.getStart(source)), text: `string: ${word}` })
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

const isMember = (node: ts.Node): boolean => ts.isPropertyAccessExpression(node)

/** Returns the name of a function that has one: a declaration, a method, or a constant that holds a function. */
function functionName(node: ts.Node): ts.Identifier | undefined {
  if (ts.isFunctionDeclaration(node)) return node.name
  if (ts.isMethodDeclaration(node)) return ts.isIdentifier(node.name) ? node.name : undefined
  if (!ts.isVariableDeclaration(node) || !ts.isIdentifier(node.name) || !node.initializer) return undefined
  const holdsFunction = ts.isArrowFunction(node.initializer) || ts.isFunctionExpression(node.initializer)
  return holdsFunction ? node.name : undefined
}

/** Returns the comments of a file, with the position of each. */
function commentsOf(source: ts.SourceFile): { start: number; text: string }[] {
  const found = new Map<number, string>()
  const visit = (node: ts.Node): void => {
    const ranges = [
      ...(ts.getLeadingCommentRanges(source.text, node.pos) ?? []),
      ...(ts.getTrailingCommentRanges(source.text, node.end) ?? []),
    ]
    for (const { pos, end } of ranges) found.set(pos, source.text.slice(pos, end))
    ts.forEachChild(node, visit)
  }
  visit(source)
  return [...found].map(([start, text]) => ({ start, text }))
}

/** Returns the titles of the tests of a file; a template is given with its placeholders. */
export function titlesOf(source: ts.SourceFile): string[] {
  const found: string[] = []
  const isTest = (callee: ts.Expression): boolean => {
    if (ts.isIdentifier(callee)) return callee.text === 'it' || callee.text === 'test'
    if (ts.isPropertyAccessExpression(callee))
      return /^(?:only|skip|fails|concurrent|sequential)$/.test(callee.name.text) && isTest(callee.expression)
    if (!ts.isCallExpression(callee)) return false
    const made = callee.expression
    return ts.isPropertyAccessExpression(made) ? isTest(made.expression) : isTest(made)
  }
  const visit = (node: ts.Node): void => {
    const title = ts.isCallExpression(node) && isTest(node.expression) ? node.arguments[0] : undefined
    if (title && ts.isStringLiteralLike(title)) found.push(title.text)
    else if (title && ts.isTemplateExpression(title)) found.push(title.getText(source).slice(1, -1))
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

const MAX_WORDS = 30

/** Returns the sentences of a page, and those of more than 30 words. Code, tables, headings and links' targets are no sentences. */
export function findLongSentences(markdown: string): { count: number; long: string[] } {
  const prose = markdown
    .replace(/^```[^]*?^```/gm, '\n\n')
    .replace(/<!--[^]*?-->/g, '')
    .replace(/^\s*(?:\||#|`test\/).*$/gm, '\n')
    .replace(/\]\([^)]*\)/g, ']')
    .replace(/`[^`\n]*`/g, 'code')
  const sentences = prose
    .split(/\n\s*\n|\n\s*(?:[-*]|\d+\.)\s|:(?=\s+[A-Z"'`[(*])|(?<!e\.g|i\.e|etc|vs)[.!?]["')]?(?=\s)/)
    .map((sentence) => sentence.replace(/\s+/g, ' ').trim())
    .filter((sentence) => /\w/.test(sentence))
  return { count: sentences.length, long: sentences.filter((sentence) => sentence.split(' ').length > MAX_WORDS) }
}
