// The grammars of the outline fallback: wasm out of the packages that build it, compressed, beside our queries, with their licences.
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants } from 'node:zlib'
import { apacheNotice, describeGrammars } from './licences.mjs'

export const folder = 'plugins/unified_search/outline_tree_sitter'
const packages = {
  '@vscode/tree-sitter-wasm': {
    at: 'wasm',
    languages: [
      'bash',
      'csharp',
      'cpp',
      'css',
      'go',
      'java',
      'javascript',
      'php',
      'python',
      'ruby',
      'rust',
      'tsx',
      'typescript',
    ],
  },
  '@cursorless/tree-sitter-wasms': {
    at: 'out',
    languages: [
      'c',
      'dart',
      'elixir',
      'haskell',
      'hcl',
      'html',
      'json',
      'lua',
      'nix',
      'scala',
      'svelte',
      'yaml',
      'zig',
    ],
  },
  '@repomix/tree-sitter-wasms': { at: 'out', languages: ['solidity', 'vue'] },
  '@tree-sitter-grammars/tree-sitter-toml': { at: '.', languages: ['toml'] },
}

/** Where a package spells a language in its own way or another's grammar reads it, and where two grammars share a query. */
const files = { csharp: 'c-sharp', svelte: 'html' }
const queries = { tsx: 'typescript' }

/** Fills the folder in `dist`; fails when a query has no grammar. */
export function copyGrammars(dist) {
  const target = join(dist, folder)
  mkdirSync(target, { recursive: true })
  const notices = []
  for (const [name, { at, languages }] of Object.entries(packages)) {
    const from = join('node_modules', name)
    for (const language of languages) {
      cpSync(join(folder, `${queries[language] ?? language}.scm`), join(target, `${language}.scm`))
      writeFileSync(
        join(target, `${language}.wasm.br`),
        compressed(readFileSync(join(from, at, `tree-sitter-${files[language] ?? language}.wasm`))),
      )
    }
    notices.push(describeGrammars(from, languages))
  }
  notices.push(apacheNotice())
  writeFileSync(join(target, 'NOTICES.txt'), notices.join('\n----\n\n'))
}

/** Tables of a parser shrink to a twentieth. The best quality would take twenty times as long and save another tenth. */
const compressed = (wasm) =>
  brotliCompressSync(wasm, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: 9,
      [constants.BROTLI_PARAM_LGWIN]: 22,
      [constants.BROTLI_PARAM_SIZE_HINT]: wasm.length,
    },
  })
