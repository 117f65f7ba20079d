import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

export const root = fileURLToPath(new URL('../..', import.meta.url))

/** The files of a folder that end so, by their path from the root, in code-unit order. */
export const filesOf = (folder: string, end: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(end))
    .map((name) => join(folder, name))
    .sort()
export const textOf = (file: string): string => readFileSync(join(root, file), 'utf8')
export const sources = [...filesOf('core', '.ts'), ...filesOf('plugins', '.ts')]

const parsed = new Map<string, ts.SourceFile>()
export function parse(file: string): ts.SourceFile {
  const known = parsed.get(file)
  if (known) return known
  const source = ts.createSourceFile(file, textOf(file), ts.ScriptTarget.Latest, true)
  parsed.set(file, source)
  return source
}

export interface Import {
  /** A package by its name, `node:fs`, or a file of ours by its path from the root. */
  readonly name: string
  readonly type: boolean
}

const imports = new Map<string, Import[]>()

/** Everything a file imports, re-exports or loads later, types included. */
export function importsOf(file: string): Import[] {
  const known = imports.get(file)
  if (known) return known
  const found: Import[] = []
  imports.set(file, found)
  const add = (specifier: string, type: boolean): void => {
    if (specifier.startsWith('.'))
      found.push({ name: normalize(join(dirname(file), specifier)).replace(/\.js$/, '.ts'), type })
    else
      found.push({
        name: specifier.startsWith('node:')
          ? specifier
          : specifier
              .split('/')
              .slice(0, specifier.startsWith('@') ? 2 : 1)
              .join('/'),
        type,
      })
  }
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier))
      add(node.moduleSpecifier.text, isTypeOnly(node.importClause))
    else if (ts.isExportDeclaration(node) && node.moduleSpecifier && ts.isStringLiteral(node.moduleSpecifier))
      add(node.moduleSpecifier.text, node.isTypeOnly)
    else if (
      ts.isCallExpression(node) &&
      node.expression.kind === ts.SyntaxKind.ImportKeyword &&
      node.arguments[0] &&
      ts.isStringLiteral(node.arguments[0])
    )
      add(node.arguments[0].text, false)
    else if (
      ts.isImportTypeNode(node) &&
      ts.isLiteralTypeNode(node.argument) &&
      ts.isStringLiteral(node.argument.literal)
    )
      add(node.argument.literal.text, true)
    ts.forEachChild(node, visit)
  }
  visit(parse(file))
  return found
}

/** Every name may be marked as a type instead of the whole line. */
function isTypeOnly(clause: ts.ImportClause | undefined): boolean {
  if (!clause) return false
  const named = clause.namedBindings
  return (
    clause.isTypeOnly ||
    (clause.name === undefined &&
      named !== undefined &&
      ts.isNamedImports(named) &&
      named.elements.length > 0 &&
      named.elements.every((element) => element.isTypeOnly))
  )
}

/** Returns the names that a file exports, without its default. */
export function exportsOf(file: string): string[] {
  return parse(file).statements.flatMap((statement) => {
    const modifiers = ts.canHaveModifiers(statement) ? (ts.getModifiers(statement) ?? []) : []
    if (
      !modifiers.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) ||
      modifiers.some(({ kind }) => kind === ts.SyntaxKind.DefaultKeyword)
    )
      return []
    if (ts.isVariableStatement(statement))
      return statement.declarationList.declarations.map(({ name }) => name.getText())
    return 'name' in statement && statement.name ? [(statement.name as ts.Identifier).text] : []
  })
}

const branches = new Set([
  ts.SyntaxKind.IfStatement,
  ts.SyntaxKind.ConditionalExpression,
  ts.SyntaxKind.ForStatement,
  ts.SyntaxKind.ForInStatement,
  ts.SyntaxKind.ForOfStatement,
  ts.SyntaxKind.WhileStatement,
  ts.SyntaxKind.DoStatement,
  ts.SyntaxKind.CaseClause,
  ts.SyntaxKind.CatchClause,
])
const decidingOperators = /^(?:&&|\|\||\?\?)=?$/

/**
 * Returns the outermost functions of a file with their cyclomatic complexity: 1 and each branch, those of nested
 * functions included. Optional chaining and defaults of parameters are no branches.
 */
export function complexitiesOf(file: string): { name: string; value: number }[] {
  const found: { name: string; value: number }[] = []
  const visit = (node: ts.Node): void => {
    const isFunction = ts.isFunctionLike(node) && 'body' in node && node.body
    if (isFunction) found.push({ name: nameOf(node), value: 1 + countBranches(node) })
    else ts.forEachChild(node, visit)
  }
  visit(parse(file))
  return found
}

function countBranches(node: ts.Node): number {
  const decides = ts.isBinaryExpression(node) && decidingOperators.test(node.operatorToken.getText())
  let count = decides || branches.has(node.kind) ? 1 : 0
  ts.forEachChild(node, (child) => void (count += countBranches(child)))
  return count
}

/** The name of a function, with that of its class or of what it is the value of. */
function nameOf(node: ts.SignatureDeclaration): string {
  const { parent } = node
  const own = node.name?.getText() ?? (ts.isConstructorDeclaration(node) ? 'constructor' : undefined)
  if (own !== undefined) return ts.isClassLike(parent) ? `${parent.name?.text ?? 'class'}.${own}` : own
  for (let at: ts.Node = parent; at; at = at.parent) {
    if (ts.isVariableDeclaration(at) || ts.isPropertyAssignment(at) || ts.isPropertyDeclaration(at))
      return at.name.getText()
  }
  return 'default'
}
