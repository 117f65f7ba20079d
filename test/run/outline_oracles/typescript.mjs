// Prints the names that the files declare or export, as the TypeScript API reads them: one JSON line per file.
// Plain scripts: declarations of the module itself and its exports, also those of CommonJS. TypeScript: also
// declarations in branches and callbacks, but none in a function or class with a name.
import ts from 'typescript'

function* listBound(name) {
  if (ts.isIdentifier(name)) yield name.text
  else for (const element of name.elements) if (ts.isBindingElement(element)) yield* listBound(element.name)
}

function* listMembers({ members }) {
  for (const member of members) {
    if (ts.isConstructorDeclaration(member)) yield 'constructor'
    else if (member.name) yield member.name.getText()
  }
}

const isTyped = (path) => /\.[mc]?tsx?$/.test(path)
function* listNames(node, path) {
  for (const child of node.statements ?? []) yield* listDeclared(child, path)
}

function* listDeclared(node, path) {
  const isTop = ts.isSourceFile(node.parent)
  const isExported = node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)
  if (ts.isVariableStatement(node)) {
    const isScoped = (node.declarationList.flags & ts.NodeFlags.BlockScoped) !== 0
    const isAmbient = node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.DeclareKeyword)
    for (const { name, initializer } of node.declarationList.declarations) {
      const counts = isTop && (isExported || isAmbient || (isScoped && ts.isIdentifier(name)))
      if (counts) yield* listBound(name)
      else if (isTyped(path) && initializer) yield* listInside(initializer, path)
    }
  } else if (ts.isFunctionDeclaration(node)) yield node.name?.text ?? 'default'
  else if (ts.isTypeAliasDeclaration(node)) yield node.name.text
  else if (ts.isModuleDeclaration(node)) yield node.name.text
  else if (ts.isClassDeclaration(node) || ts.isInterfaceDeclaration(node) || ts.isEnumDeclaration(node)) {
    const name = node.name?.text ?? 'default'
    yield name
    if (node.name) for (const member of listMembers(node)) yield `${name}.${member}`
  } else if (isTyped(path)) yield* listInside(node, path)
}

/** Returns the names declared in the statements within a node. */
function* listInside(node, path) {
  const children = []
  node.forEachChild((child) => void children.push(child))
  for (const child of children) {
    if (ts.isStatement(child) && !ts.isBlock(child)) yield* listDeclared(child, path)
    else yield* listInside(child, path)
  }
}

const paths = process.argv.slice(2)
const program = ts.createProgram(paths, { allowJs: true, noResolve: true, noLib: true, target: ts.ScriptTarget.Latest })
const checker = program.getTypeChecker()
for (const path of paths) {
  const file = program.getSourceFile(path)
  const symbol = checker.getSymbolAtLocation(file) ?? file.symbol
  const exported = symbol ? checker.getExportsOfModule(symbol) : []
  // Names of other modules are no declarations of this one.
  const isOwn = ({ declarations = [] }) =>
    declarations.some((one) => !ts.isExportSpecifier(one) || one.parent.parent.moduleSpecifier === undefined)
  const own = exported.filter(isOwn).map(({ escapedName }) => String(escapedName))
  const named = own.filter((name) => !/^(?:export=|default|prototype|__export)$/.test(name))
  console.log(JSON.stringify({ path, names: [...listNames(file, path), ...named] }))
}
