/** The languages that files are read as, by ast-grep's names. */
export interface Language {
  id: string
  /** As ast-grep writes it in its answers. */
  title: string
  aliases: string[]
  extensions: string[]
  /** Read by tree-sitter alone: it has an outline, and no patterns. */
  outlined?: true
}

const row = (id: string, title: string, aliases: string, extensions: string): Language => ({
  id,
  title,
  aliases: aliases.split(' ').filter(Boolean),
  extensions: extensions.split(' '),
})

export const languages: readonly Language[] = [
  row('typescript', 'TypeScript', 'ts', 'ts mts cts'),
  row('tsx', 'Tsx', '', 'tsx'),
  row('javascript', 'JavaScript', 'js jsx', 'js mjs cjs jsx'),
  row('python', 'Python', 'py', 'py pyi'),
  row('rust', 'Rust', 'rs', 'rs'),
  row('go', 'Go', 'golang', 'go'),
  row('java', 'Java', '', 'java'),
  row('c', 'C', '', 'c h'),
  row('cpp', 'Cpp', 'c++ cc cxx', 'cc cpp cxx hpp hh hxx'),
  row('csharp', 'CSharp', 'cs c#', 'cs'),
  row('ruby', 'Ruby', 'rb', 'rb'),
  row('php', 'Php', '', 'php'),
  row('kotlin', 'Kotlin', 'kt', 'kt kts'),
  row('swift', 'Swift', '', 'swift'),
  row('scala', 'Scala', '', 'scala sc sbt'),
  row('lua', 'Lua', '', 'lua'),
  row('bash', 'Bash', 'sh zsh shell', 'sh bash zsh'),
  row('elixir', 'Elixir', 'ex', 'ex exs'),
  row('haskell', 'Haskell', 'hs', 'hs'),
  row('dart', 'Dart', '', 'dart'),
  row('solidity', 'Solidity', 'sol', 'sol'),
  row('nix', 'Nix', '', 'nix'),
  row('hcl', 'Hcl', 'tf terraform', 'hcl tf'),
  row('html', 'Html', '', 'html htm'),
  row('css', 'Css', '', 'css'),
  row('json', 'Json', '', 'json'),
  row('yaml', 'Yaml', 'yml', 'yaml yml'),
  row('markdown', 'Markdown', 'md', 'md'),
  { ...row('toml', 'Toml', '', 'toml'), outlined: true },
  { ...row('svelte', 'Svelte', '', 'svelte'), outlined: true },
  { ...row('vue', 'Vue', '', 'vue'), outlined: true },
  { ...row('zig', 'Zig', '', 'zig'), outlined: true },
]

/** Those that patterns are written in. */
export const patternLanguages = languages.filter(({ outlined }) => !outlined)

/** Languages whose symbols ast-grep knows by itself. */
export const outlinedByAstGrep: ReadonlySet<string> = new Set(
  'typescript tsx javascript python rust go java c cpp csharp ruby php kotlin swift markdown'.split(' '),
)

const byName = new Map(
  languages.flatMap((language) => [language.id, ...language.aliases].map((name) => [name, language] as const)),
)
const byExtension = new Map(
  languages.flatMap((language) => language.extensions.map((extension) => [extension, language] as const)),
)

/** The language of that name or alias, in any case. */
export const languageNamed = (name: string): Language | undefined => byName.get(name.toLowerCase())

/** The language that a file's name speaks for. */
export function languageOf(path: string): Language | undefined {
  const [, extension] = /\.([^./]+)$/.exec(path) ?? []
  return extension === undefined ? undefined : byExtension.get(extension.toLowerCase())
}
