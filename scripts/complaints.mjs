// Writes docs/complaints.md from test/conformance/complaints.yaml: `node scripts/complaints.mjs`, or `--check` to compare only.
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const page = join(root, 'docs/complaints.md')
const themes = parse(readFileSync(join(root, 'test/conformance/complaints.yaml'), 'utf8'))

const toLink = (thread) => `[${thread}](https://github.com/${thread.replace('#', '/issues/')})`
const toRow = ([thread, situation, file, title]) =>
  `| ${toLink(thread)} | ${situation} | \`${file}\` "${title.replaceAll('|', '\\|')}" |`
const total = themes.reduce((all, { cases }) => all + cases.length, 0)
const text = [
  '# Complaints of the field',
  '',
  `These ${themes.length} themes come from public issue trackers of coding agents. Each case names the thread, the situation and the test that holds it: ${total} cases. A theme also says what no test holds. \`node scripts/complaints.mjs\` writes this page.`,
  '',
  ...themes.flatMap(({ theme, cases, open }, at) => [
    `## ${at + 1}. ${theme}`,
    '',
    ...(cases.length > 0
      ? ['| thread | situation | test |', '|---|---|---|', ...cases.map(toRow), '']
      : ['No case is held by thread.', '']),
    ...(open.length > 0 ? [`Not held: ${open.join(' ')}`, ''] : []),
  ]),
].join('\n')

if (!process.argv.includes('--check')) writeFileSync(page, text)
else if (readFileSync(page, 'utf8') !== text) {
  console.error('docs/complaints.md differs from test/conformance/complaints.yaml. Run `node scripts/complaints.mjs`.')
  process.exit(1)
}
