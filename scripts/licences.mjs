// The licence texts of everything that dist contains. The build fails where one is missing.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const MIT = `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`

const mit = (...holders) => `${holders.map((holder) => `Copyright (c) ${holder}`).join('\n')}\n\n${MIT}`
const readLicence = (folder) => {
  const file = readdirSync(folder).find((name) => /^(un)?licen[cs]e/i.test(name))
  return file && readFileSync(join(folder, file), 'utf8').trim()
}
// This package carries the whole text of the Apache License 2.0 and no notice of its own.
const apache = () => readLicence('node_modules/human-signals')

/** Texts of packages that publish none, as their repositories state them. */
const ownTexts = {
  '@ai-sdk/provider-utils': () => readLicence('node_modules/@ai-sdk/provider'),
  '@earendil-works/pi-tui': () => mit('2025 Mario Zechner'),
  '@xterm/headless': () =>
    mit(
      '2017-2019, The xterm.js authors (https://github.com/xtermjs/xterm.js)',
      '2014-2016, SourceLair Private Company (https://www.sourcelair.com)',
      '2012-2013, Christopher Jeffrey (https://github.com/chjj/)',
    ),
}
/** Works of others that a package contains without their texts. */
const contained = {
  jiti: ['Babel (MIT)', () => mit('2014-present Sebastian McKenzie and other contributors')],
  unpdf: ['PDF.js (Apache-2.0)', () => `Copyright Mozilla Foundation\n\n${apache()}`],
}

/** Heading to text. */
const licences = new Map()

/** Adds the licence of a package that dist contains, and those of works inside it. Throws if it has no text. */
export function keepLicence(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const text = readLicence(folder) ?? ownTexts[name]?.()
  if (!text) throw new Error(`${name} has no licence text. Add it to ownTexts in scripts/licences.mjs.`)
  licences.set(`${name} ${version} (${license})`, text)
  const [work, makeText] = contained[name] ?? []
  if (work) licences.set(`${work}, contained in ${name}`, makeText())
}

/** Writes all of them to one file, each text once: an installation pays for files more than for bytes. */
export function writeLicences(file) {
  const headings = new Map()
  for (const [heading, text] of [...licences].sort(([a], [b]) => (a < b ? -1 : 1)))
    headings.set(text, [...(headings.get(text) ?? []), heading])
  const parts = [...headings].map(([text, names]) => `${names.join('\n')}\n\n${text}\n`)
  writeFileSync(file, parts.join('\n----\n\n'))
}

const grammar = (authors, licence = 'MIT', home = 'tree-sitter') => ({ authors, licence, home })
/** The authors and the licence of each grammar, as its package or repository states them. */
const grammars = {
  bash: grammar('Max Brunsfeld'),
  c: grammar('Max Brunsfeld'),
  cpp: grammar('Max Brunsfeld'),
  csharp: grammar('Max Brunsfeld'),
  css: grammar('Max Brunsfeld'),
  dart: grammar('UserNobody14 and others', 'MIT', 'UserNobody14'),
  elixir: grammar('the Elixir team', 'Apache-2.0', 'elixir-lang'),
  go: grammar('Max Brunsfeld'),
  haskell: grammar('Rick Winfrey'),
  hcl: grammar('Michael Hoffmann', 'Apache-2.0', 'tree-sitter-grammars'),
  html: grammar('Max Brunsfeld'),
  java: grammar('Ayman Nadeem'),
  javascript: grammar('Max Brunsfeld'),
  json: grammar('Max Brunsfeld'),
  lua: grammar('Munif Tanjim', 'MIT', 'tree-sitter-grammars'),
  nix: grammar('Charles Strahan', 'MIT', 'nix-community'),
  php: grammar('Josh Vera, Max Brunsfeld and others'),
  python: grammar('Max Brunsfeld'),
  ruby: grammar('Rob Rix'),
  rust: grammar('Maxim Sokolov'),
  scala: grammar('Max Brunsfeld'),
  solidity: grammar('Joran Honig', 'MIT', 'JoranHonig'),
  toml: grammar('Ika', 'MIT', 'tree-sitter-grammars'),
  typescript: grammar('Max Brunsfeld'),
  vue: grammar('Ika', 'MIT', 'tree-sitter-grammars'),
  yaml: grammar('Ika', 'MIT', 'tree-sitter-grammars'),
  zig: grammar('Amaan Qureshi', 'MIT', 'tree-sitter-grammars'),
}
/** Grammars that the build takes from another language's file. */
const sameGrammar = { svelte: 'html', tsx: 'typescript' }

/** Describes the authors of grammars, with the licence of the package that built them. Throws for an unknown grammar. */
export function describeGrammars(folder, languages) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const rows = languages.map((language) => {
    const { authors, licence, home } = grammars[sameGrammar[language] ?? language] ?? {}
    if (!authors) throw new Error(`The grammar of ${language} has no author. Add it to scripts/licences.mjs.`)
    return `${language}: by ${authors}, ${licence}, https://github.com/${home}`
  })
  const built = `Built by ${name} ${version} (${license})`
  return `${rows.join('\n')}\n\n${built}\n\n${readLicence(folder) ?? ''}\n\nThe MIT licence of the grammars:\n\n${MIT}\n`
}

/** The text of the licence that grammars under Apache-2.0 have. */
export const apacheNotice = () => `The Apache licence of grammars:\n\n${apache()}\n`
