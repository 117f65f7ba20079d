/** A language of source files, by the name of ast-grep. */
export interface Language {
  id: string
  /** Name in the output of ast-grep. */
  title: string
  aliases: string[]
  extensions: string[]
  /** Read by tree-sitter only: has an outline but no patterns. */
  isOutlineOnly?: true
  /** A page like HTML: patterns are searched in its scripts and styles. */
  isPage?: true
}

const toLanguage = (id: string, title: string, aliases: string, extensions: string): Language => ({
  id,
  title,
  aliases: aliases.split(' ').filter(Boolean),
  extensions: extensions.split(' '),
})

export const languages: readonly Language[] = [
  toLanguage('typescript', 'TypeScript', 'ts', 'ts mts cts'),
  toLanguage('tsx', 'Tsx', '', 'tsx'),
  toLanguage('javascript', 'JavaScript', 'js jsx', 'js mjs cjs jsx'),
  toLanguage('python', 'Python', 'py', 'py pyi'),
  toLanguage('rust', 'Rust', 'rs', 'rs'),
  toLanguage('go', 'Go', 'golang', 'go'),
  toLanguage('java', 'Java', '', 'java'),
  toLanguage('c', 'C', '', 'c h'),
  toLanguage('cpp', 'Cpp', 'c++ cc cxx', 'cc cpp cxx hpp hh hxx'),
  toLanguage('csharp', 'CSharp', 'cs c#', 'cs'),
  toLanguage('ruby', 'Ruby', 'rb', 'rb'),
  toLanguage('php', 'Php', '', 'php'),
  toLanguage('kotlin', 'Kotlin', 'kt', 'kt kts'),
  toLanguage('swift', 'Swift', '', 'swift'),
  toLanguage('scala', 'Scala', '', 'scala sc sbt'),
  toLanguage('lua', 'Lua', '', 'lua'),
  toLanguage('bash', 'Bash', 'sh zsh shell', 'sh bash zsh'),
  toLanguage('elixir', 'Elixir', 'ex', 'ex exs'),
  toLanguage('haskell', 'Haskell', 'hs', 'hs'),
  toLanguage('dart', 'Dart', '', 'dart'),
  toLanguage('solidity', 'Solidity', 'sol', 'sol'),
  toLanguage('nix', 'Nix', '', 'nix'),
  toLanguage('hcl', 'Hcl', 'tf terraform', 'hcl tf'),
  toLanguage('html', 'Html', '', 'html htm'),
  toLanguage('css', 'Css', '', 'css'),
  toLanguage('json', 'Json', '', 'json'),
  toLanguage('yaml', 'Yaml', 'yml', 'yaml yml'),
  toLanguage('markdown', 'Markdown', 'md', 'md'),
  { ...toLanguage('toml', 'Toml', '', 'toml'), isOutlineOnly: true },
  { ...toLanguage('svelte', 'Svelte', '', 'svelte'), isPage: true },
  { ...toLanguage('vue', 'Vue', '', 'vue'), isPage: true },
  toLanguage('zig', 'Zig', '', 'zig'),
]

/** Languages with patterns. */
export const patternLanguages = languages.filter(({ isOutlineOnly }) => !isOutlineOnly)

/** Languages with built-in outline rules in ast-grep. */
export const outlinedByAstGrep: ReadonlySet<string> = new Set(
  'typescript tsx javascript python rust go java c cpp csharp ruby php kotlin swift markdown'.split(' '),
)

const byName = new Map(
  languages.flatMap((language) => [language.id, ...language.aliases].map((name) => [name, language] as const)),
)
const byExtension = new Map(
  languages.flatMap((language) => language.extensions.map((extension) => [extension, language] as const)),
)

/** Returns the language with this name or alias; case does not matter. */
export const languageByName = (name: string): Language | undefined => byName.get(name.toLowerCase())

/** Returns the language of a file extension. */
export function languageByPath(path: string): Language | undefined {
  const [, extension] = /\.([^./]+)$/.exec(path) ?? []
  return extension === undefined ? undefined : byExtension.get(extension.toLowerCase())
}
