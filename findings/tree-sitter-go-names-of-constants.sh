#!/usr/bin/env bash
# @vscode/tree-sitter-wasm 0.3.1, Go: in a list of constants the commas are children of the field `name`, in a list of variables they are not.
#
# Expected: a query for two names, `name: (identifier) name: (identifier)`, finds `const P, Q = 1, 2` as it finds `var x, y = 1, 2`.
# Seen:  it finds the variables only: three children of the constant have the field `name`, and the second is the comma.
# Consequence here: our query for constants names no field.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts web-tree-sitter@0.27.1 @vscode/tree-sitter-wasm@0.3.1 >/dev/null
cat >run.mjs <<'EOF'
import { Language, Parser, Query } from 'web-tree-sitter'
await Parser.init()
const language = await Language.load('node_modules/@vscode/tree-sitter-wasm/wasm/tree-sitter-go.wasm')
const parser = new Parser()
parser.setLanguage(language)
const tree = parser.parse('package p\nconst P, Q = 1, 2\nvar x, y = 1, 2\n')
for (const kind of ['const_spec', 'var_spec']) {
  const [node] = tree.rootNode.descendantsOfType(kind)
  const named = node.childrenForFieldName('name').map(({ text }) => text).join(' ')
  const found = new Query(language, `(${kind} name: (identifier) name: (identifier))`).matches(tree.rootNode).length
  console.log(`${kind}: ${named}; the query finds ${found}`)
}
EOF
node run.mjs | tee seen
diff seen - <<'EOF'
const_spec: P , Q; the query finds 0
var_spec: x y; the query finds 1
EOF
