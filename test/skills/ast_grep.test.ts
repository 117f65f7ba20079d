import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { folder, readPage } from '../support/pages.js'

// Topics that the guidance of the tools sends to this skill, line by line, and the headings that answer them.
const topics: [line: string, file: string, headings: string[]][] = [
  [
    'rule authoring, sg new, rewrite and apply work, interactive work, sgconfig.yml',
    'references/project.md',
    ['Scaffolding with ast-grep new', 'Debugging a configuration'],
  ],
  [
    'quick start, install, --help, shell quoting, optional chaining',
    'SKILL.md',
    ['Quick start and install', 'Shell quoting of metavariables', 'First rewrite: optional chaining'],
  ],
  [
    'catalog examples, existing rewrites, adapting them',
    'references/catalog.md',
    ['Reading the public catalogue', 'Adapting an example to this repository'],
  ],
  [
    'ast-grep new, new rule, rules/, rule-tests/, utils/',
    'references/project.md',
    ['Scaffolding with ast-grep new', 'The folders'],
  ],
  [
    'ruleDirs, testConfigs, languageGlobs, libraryPath, languageSymbol, injections',
    'references/project.md',
    [
      'Top-level keys of sgconfig.yml',
      'languageGlobs and its precedence',
      'customLanguages',
      'languageInjections (experimental)',
    ],
  ],
  [
    'scan --rule, --inline-rules, severities, formats, relations, positive rule, ESQuery, matches, nthChild, range, field, stopBy, utilities, order',
    'references/rules.md',
    [
      'scan --rule and --inline-rules',
      'Severity overrides',
      'Output: --format and --report-style',
      'Relational rules',
      'Composite rules',
      'A positive rule is required',
      'kind and its limited ESQuery syntax',
      'Local and global utility rules',
      'nthChild: formulas, reverse, ofRule',
      'range',
      'field in relations',
      'Exact stopBy',
      'Rule order and debugging',
    ],
  ],
  [
    'test --test-dir, --snapshot-dir, --include-off, snapshots',
    'references/testing.md',
    [
      'Folders and filters',
      'Rules that are off',
      'Snapshots',
      'Reviewing snapshots',
      'Beyond the public workflow=test',
    ],
  ],
  [
    'url, metadata, constraints, severity, message, note, labels, files, ignores, several documents',
    'references/rule-config.md',
    ['Keys', 'url and metadata', 'severity, message, note', 'Several documents in one file'],
  ],
  [
    'constraints after rule, note without variables, label scope, precedence, ./, ignores against --no-ignore',
    'references/rule-config.md',
    ['constraints', 'labels and their scope', 'files and ignores', 'ignores against --no-ignore'],
  ],
  [
    '--rewrite, fix, FixConfig, expandStart, expandEnd, commas, --interactive, --update-all, indentation',
    'references/rewrite.md',
    [
      '--rewrite, preview and apply',
      'fix as a text',
      'FixConfig: template, expandStart, expandEnd',
      'Metavariables anywhere in the text',
      'Commas and list items',
      'Indentation',
    ],
  ],
  [
    'replace, substring, convert, toCase, separatedBy, CaseChange, string form, ordering',
    'references/transform.md',
    ['replace', 'substring', 'convert: toCase, separatedBy, CaseChange', 'String form', 'Chaining and order'],
  ],
  [
    'rewriters: fields, captures, nesting, barrel imports',
    'references/transform.md',
    ['Rewriters', 'Nested rewriters and what they see', 'Barrel import split'],
  ],
  [
    '--stdin, --json, --heading, --threads, --inspect, --follow, --no-ignore, --before, --after, scan -r, lsp, completions, action, colour, exit codes',
    'references/cli.md',
    [
      'Input and output',
      'JSON forms',
      'Context and headings',
      'Threads, color and inspection',
      'Files that are searched',
      'scan -r',
      'Editor and lsp',
      'Shell completions',
      'GitHub Action',
      'Exit codes of run',
    ],
  ],
  ['top-level commands', 'references/cli.md', ['Command discovery']],
  [
    'pattern syntax, captures, $$$ARGS, $_, $$VAR, pattern objects',
    'references/patterns.md',
    ['Metavariables', 'Naming and detection', 'Pattern objects: context and selector'],
  ],
  [
    'incomplete fragments, debug_query, Playground, context and selector',
    'references/troubleshooting.md',
    ['The pattern has an ERROR node', 'Reading debug_query', 'Playground against CLI'],
  ],
  [
    'kind plus pattern, rule order, prefixes, several languages',
    'references/rules.md',
    ['kind plus pattern traps', 'Rule order and debugging'],
  ],
  ['prefix matching by constraints.regex', 'references/patterns.md', ['Prefix match by constraints.regex']],
  ['how it works: Tree-sitter, inputs, modes, cores', 'references/concepts.md', ['How it works']],
  [
    'textual and structural, AST and CST, named, kind and field, significant',
    'references/concepts.md',
    [
      'Textual against structural',
      'AST against CST',
      'Named and unnamed nodes',
      'kind against field',
      'Significant and trivial nodes',
    ],
  ],
  [
    'invalid, incomplete, ambiguous snippets, effective node, detection, lazy matches',
    'references/patterns.md',
    [
      'Valid, incomplete and ambiguous snippets',
      'Effective node and selector',
      'Naming and detection',
      'Lazy multi-match',
    ],
  ],
  ['match algorithm and strictness', 'references/concepts.md', ['The match algorithm', 'Strictness']],
  [
    'Find & Patch: rewriters, transform.rewrite, joinBy',
    'references/transform.md',
    ['Find & Patch', 'transform.rewrite: ordering and joinBy'],
  ],
  [
    'Node, Python and Rust APIs, computed replacements, order and count',
    'references/api.md',
    [
      'When rules are not enough',
      'Node (NAPI): the parts',
      'NapiConfig: the same rules',
      'Computed replacements and conditional edits',
      'Counting and order',
      'Python',
      'Rust: ast_grep_core',
    ],
  ],
  ['deprecated js.parse', 'references/api.md', ['Deprecated: js.parse and its like']],
  ['code that is not valid alone', 'references/patterns.md', ['Pattern objects: context and selector']],
  ['$$VAR, field, modifiers, operators', 'references/patterns.md', ['Fields, modifiers, operators']],
  ['a language that is not built in, expandoChar', 'references/languages.md', ['Custom languages', 'expandoChar']],
  [
    'tree-sitter build, TREE_SITTER_LIBDIR, Neovim parsers, tree-sitter parse',
    'references/languages.md',
    ['Custom languages'],
  ],
  [
    'the catalogue of languages, aliases, extensions, languageGlobs',
    'references/languages.md',
    [
      'Built-in names, aliases, extensions',
      'Built-in mapping, languageGlobs, or separate rules',
      'Several languages in one project',
    ],
  ],
  [
    'injections, $LANG, $CONTENT, styled-components, GraphQL',
    'references/languages.md',
    ['Injections', 'Dynamic injections with $LANG'],
  ],
  ['scope, type, control flow: another tool', 'SKILL.md', ['When not to use it']],
]

describe('skill ast-grep', () => {
  const skill = join(folder, 'ast-grep')

  it.each(topics)('answers questions on the page they are sent to: %s', (_, file, headings) => {
    const known = readPage(join(skill, file)).sections.map(({ heading }) => heading)
    for (const heading of headings) expect(known, file).toContain(heading)
  })

  it('links from its first page to every reference', () => {
    const page = readPage(join(skill, 'SKILL.md'))
    for (const [, file] of topics) {
      expect(existsSync(join(skill, file))).toBe(true)
      if (file !== 'SKILL.md') expect(page.text).toContain(`(${file})`)
    }
  })
})
