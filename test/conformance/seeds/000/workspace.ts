import type { Boot, Files } from 'vtcode/test'

/** The workspace that the rows of this document share. */
export const files: Files = {
  'src/app.ts':
    "import { a } from 'bees'\nexport class App {\n  run() {}\n  private hide() {}\n}\nexport function main() {\n  log('x', 1)\n}\n",
  'src/list.ts': 'const xs = [one, legacy(), two]\n',
  'src/lib.rs': 'fn add(a: u8, b: u8) -> u8 { a + b }\n',
  'src/main.rs': `fn main() {\n${Array.from({ length: 198 }, (_, index) => `    step(${index});\n`).join('')}}\n`,
  'docs/notes.md': 'before\nTD-015 and recovery-mode\nTODO\ntodo\n',
  'langs/a.py': 'call(1)\n',
  'langs/a.js': 'call(1)\n',
  'langs/a.tsx': 'call(1)\n',
  'langs/a.ts': 'call(1)\n',
  'langs/a.rs': 'fn f() { call(1) }\n',
  'langs/a.go': 'package a\nfunc f() { call(1) }\n',
  'langs/A.java': 'class A { void f() { call(1); } }\n',
  'langs/f.toml': 'x = 1\n',
  'README.md': 'Old heading\n',
  'big.txt': 'line\n'.repeat(300_000),
  'bytes.bin': Uint8Array.from({ length: 20_000 }, (_, index) => index % 251),
  'large_file.bin': 'ab'.repeat(10_000),
  'crowd/one.txt': 'crowd\n'.repeat(40),
  'sgconfig.yml': 'ruleDirs: [rules]\ntestConfigs:\n- testDir: rule-tests\nutilDirs: [utils]\n',
  'other.yml': 'ruleDirs: [more-rules]\ntestConfigs:\n- testDir: more-tests\n',
  'utils/.keep': '',
  'rules/no-log.yml':
    'id: no-log\nlanguage: TypeScript\nseverity: error\nmessage: No log\nnote: Use the logger.\nmetadata: { since: "1" }\nrule:\n  pattern: log($$$A)\n',
  'rules/no-legacy.yml':
    'id: no-legacy\nlanguage: TypeScript\nseverity: warning\nmessage: No legacy\nrule:\n  pattern: legacy()\n',
  'rule-tests/no-log-test.yml': "id: no-log\nvalid: ['x()']\ninvalid: ['log(1)']\n",
  'rule-tests/no-legacy-test.yml': "id: no-legacy\nvalid: ['x()']\ninvalid: ['legacy()']\n",
  'more-rules/no-add.yml': 'id: no-add\nlanguage: Rust\nmessage: No add\nrule:\n  kind: binary_expression\n',
  'more-tests/no-add-test.yml': "id: no-add\nvalid: ['fn f() {}']\ninvalid: ['fn f() { 1 + 2 }']\n",
  'sub/x.ts': '',
  '.agents/skills/demo/SKILL.md': '---\nname: demo\ndescription: Use for demos.\n---\nStep one.\n',
}
export const boot: Boot = { files, config: { sandbox: { mode: 'off' } } }
