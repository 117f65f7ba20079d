/** A layout of instruction files as another program documents it. Marked words stand for the text of each file. */
export interface Layout {
  from: string
  layout: string
  /** The sentence of docs/coming-from.md about it. */
  here: string
  files?: Record<string, string>
  home?: Record<string, string>
  /** The folder that the workspace is in its repository. */
  workspace?: string
  settings?: object
  /** A file that the model reads first, or a command that it runs first. */
  touch?: string
  command?: string
  /** Words of the first prompt, in their order. */
  first?: string[]
  /** Words that come after `touch`, and not before. */
  later?: string[]
  absent?: string[]
  /** Sentences about files that are not used. */
  unused?: RegExp[]
}

const rule = (front: string, text: string): string => `---\n${front}\n---\n${text}\n`
const src = { 'src/a.ts': 'let a\n', 'docs/b.md': 'text\n' }

export const layouts: Layout[] = [
  {
    from: 'Claude Code',
    layout: '`CLAUDE.md`',
    here: 'read',
    files: { 'CLAUDE.md': 'ONE' },
    first: ['ONE'],
  },
  {
    from: 'Claude Code',
    layout: '`.claude/CLAUDE.md`',
    here: 'read where the folder has no `CLAUDE.md`',
    files: { '.claude/CLAUDE.md': 'ONE' },
    first: ['ONE'],
  },
  {
    from: 'Claude Code',
    layout: '`CLAUDE.local.md`',
    here: 'read after the other files of its folder',
    files: { 'CLAUDE.md': 'ONE', 'CLAUDE.local.md': 'TWO' },
    first: ['ONE', 'TWO'],
  },
  {
    from: 'Claude Code',
    layout: '`~/.claude/CLAUDE.md`',
    here: 'read first, where `~/.vtcode/AGENTS.md` is missing',
    files: { 'CLAUDE.md': 'TWO' },
    home: { '.claude/CLAUDE.md': 'ONE' },
    first: ['ONE', 'TWO'],
  },
  {
    from: 'Claude Code',
    layout: '`.claude/rules/*.md`',
    here: 'read after the files of folders',
    files: { 'CLAUDE.md': 'ONE', '.claude/rules/style.md': 'TWO' },
    first: ['ONE', 'TWO'],
  },
  {
    from: 'Claude Code',
    layout: '`.claude/rules/*.md` with `paths:`',
    here: 'read when a call first names such a path',
    files: { ...src, '.claude/rules/ts.md': rule('paths:\n  - "src/**/*.ts"', 'ONE') },
    touch: 'src/a.ts',
    later: ['ONE'],
  },
  {
    from: 'Claude Code',
    layout: '`~/.claude/rules/*.md`',
    here: 'read after the user’s file',
    files: { 'CLAUDE.md': 'THREE' },
    home: { '.claude/CLAUDE.md': 'ONE', '.claude/rules/mine.md': 'TWO' },
    first: ['ONE', 'TWO', 'THREE'],
  },
  {
    from: 'Claude Code',
    layout: '`src/CLAUDE.md`',
    here: 'read when a call first names a path below `src`',
    files: { ...src, 'src/CLAUDE.md': 'ONE' },
    touch: 'src/a.ts',
    later: ['ONE'],
  },
  {
    from: 'Claude Code',
    layout: '`src/CLAUDE.md`, reached by a command',
    here: 'read when a command first names a path below `src`',
    files: { ...src, 'src/CLAUDE.md': 'ONE' },
    command: "cat 'src/a.ts' | head -3",
    later: ['ONE'],
  },
  {
    from: 'Claude Code',
    layout: '`.claude/CLAUDE.local.md`',
    here: 'read where the folder has no `CLAUDE.local.md`',
    files: { 'CLAUDE.md': 'ONE', '.claude/CLAUDE.local.md': 'TWO' },
    first: ['ONE', 'TWO'],
  },
  {
    from: 'Claude Code',
    layout: 'imports within a line, in a list, from home',
    here: 'read; from home only your instruction files and rules',
    files: { 'CLAUDE.md': 'See @a.md.\n\n- @b.md\n\n@~/.claude/rules/c.md\n', 'a.md': 'ONE', 'b.md': 'TWO' },
    home: { '.claude/rules/c.md': 'THREE' },
    first: ['THREE', 'TWO', 'THREE', 'ONE'],
  },
  {
    from: 'Claude Code',
    layout: '`CLAUDE.md` of folders above, within the repository',
    here: 'read, outermost first',
    files: {
      '.git/HEAD': 'ref: refs/heads/main\n',
      'CLAUDE.md': 'ONE',
      'pkg/CLAUDE.md': 'TWO',
      'pkg/.vtcode/config.json': '{}',
    },
    workspace: 'pkg',
    first: ['ONE', 'TWO'],
  },
  {
    from: 'Claude Code',
    layout: '`CLAUDE.md` next to `AGENTS.md`',
    here: 'both are read, `AGENTS.md` last; one of them if it contains the other',
    files: { 'CLAUDE.md': 'ONE', 'AGENTS.md': 'TWO' },
    first: ['ONE', 'TWO'],
  },
  {
    from: 'Codex',
    layout: '`AGENTS.md` from the root of the repository down',
    here: 'read, outermost first',
    files: {
      '.git/HEAD': 'ref: refs/heads/main\n',
      'AGENTS.md': 'ONE',
      'a/AGENTS.md': 'TWO',
      'a/b/AGENTS.md': 'THREE',
    },
    workspace: 'a/b',
    first: ['ONE', 'TWO', 'THREE'],
  },
  {
    from: 'Codex',
    layout: '`AGENTS.override.md`',
    here: 'read in place of `AGENTS.md`',
    files: { 'AGENTS.override.md': 'ONE', 'AGENTS.md': 'TWO' },
    first: ['ONE'],
    absent: ['TWO'],
  },
  {
    from: 'Codex',
    layout: '`~/.codex/AGENTS.md`',
    here: 'read first, where neither `~/.vtcode/AGENTS.md` nor `~/.claude/CLAUDE.md` exists',
    files: { 'AGENTS.md': 'TWO' },
    home: { '.codex/AGENTS.md': 'ONE' },
    first: ['ONE', 'TWO'],
  },
  {
    from: 'Codex',
    layout: 'names of `project_doc_fallback_filenames`',
    here: 'read where a folder has no `AGENTS.md`; the setting is `agent.project_doc_fallback_filenames`',
    files: { 'TEAM.md': 'ONE' },
    settings: { project_doc_fallback_filenames: ['TEAM.md'] },
    first: ['ONE'],
  },
  {
    from: 'Gemini CLI',
    layout: '`GEMINI.md`',
    here: 'read where a folder has neither `AGENTS.md` nor `CLAUDE.md`',
    files: { 'GEMINI.md': 'ONE' },
    first: ['ONE'],
  },
  {
    from: 'Gemini CLI',
    layout: '`~/.gemini/GEMINI.md` next to `~/.claude/CLAUDE.md`',
    here: 'named as not used',
    home: { '.claude/CLAUDE.md': 'ONE', '.gemini/GEMINI.md': 'TWO' },
    first: ['ONE'],
    absent: ['TWO'],
    unused: [/\.gemini\/GEMINI\.md is not used/],
  },
  {
    from: 'Gemini CLI',
    layout: '`@./file.md` in `GEMINI.md`',
    here: 'read',
    files: { 'GEMINI.md': '@./docs/b.md\nTWO\n', 'docs/b.md': 'ONE' },
    first: ['ONE', 'TWO'],
  },
  {
    from: 'Copilot',
    layout: '`.github/copilot-instructions.md` alone',
    here: 'read',
    files: { '.github/copilot-instructions.md': 'ONE' },
    first: ['ONE'],
  },
  {
    from: 'Copilot',
    layout: '`.github/copilot-instructions.md` next to `AGENTS.md`',
    here: 'named as not used, unless `AGENTS.md` contains it',
    files: { '.github/copilot-instructions.md': 'TWO', 'AGENTS.md': 'ONE' },
    first: ['ONE'],
    absent: ['TWO'],
    unused: [/copilot-instructions\.md is not used: AGENTS\.md is/],
  },
  {
    from: 'Copilot',
    layout: '`.github/instructions/*.instructions.md` with `applyTo`',
    here: 'read when a call first names such a path; `**` at the start',
    files: {
      ...src,
      '.github/instructions/ts.instructions.md': rule('applyTo: "**/*.ts,**/*.tsx"', 'TWO'),
      '.github/instructions/all.instructions.md': rule('applyTo: "**"', 'ONE'),
    },
    touch: 'src/a.ts',
    first: ['ONE'],
    later: ['TWO'],
  },
  {
    from: 'Cursor',
    layout: '`.cursor/rules/*.mdc` with `alwaysApply: true`',
    here: 'read',
    files: { '.cursor/rules/all.mdc': rule('description: All.\nglobs:\nalwaysApply: true', 'ONE') },
    first: ['ONE'],
  },
  {
    from: 'Cursor',
    layout: '`.cursor/rules/*.mdc` with `globs`',
    here: 'read when a call first names such a path',
    files: { ...src, '.cursor/rules/ts.mdc': rule('description:\nglobs: src/**/*.ts\nalwaysApply: false', 'ONE') },
    touch: 'src/a.ts',
    later: ['ONE'],
  },
  {
    from: 'Cursor',
    layout: '`.cursor/rules/*.mdc` with a description only',
    here: 'named with its description, for the model to read',
    files: { '.cursor/rules/db.mdc': rule('description: About ONE\nalwaysApply: false', 'TWO') },
    first: ['.cursor/rules/db.mdc', 'ONE'],
    absent: ['TWO'],
  },
  {
    from: 'Cursor',
    layout: '`.cursorrules` alone',
    here: 'read',
    files: { '.cursorrules': 'ONE' },
    first: ['ONE'],
  },
  {
    from: 'Windsurf',
    layout: '`.windsurf/rules/*.md` with `trigger: glob`',
    here: 'read when a call first names such a path',
    files: { ...src, '.windsurf/rules/ts.md': rule('trigger: glob\nglobs: "*.ts"', 'ONE') },
    touch: 'src/a.ts',
    later: ['ONE'],
  },
  {
    from: 'Windsurf',
    layout: '`.windsurf/rules/*.md` with `trigger: manual`',
    here: 'named as not used',
    files: { '.windsurf/rules/x.md': rule('trigger: manual', 'ONE') },
    absent: ['ONE'],
    unused: [/\.windsurf\/rules\/x\.md is not used/],
  },
  {
    from: 'Cline',
    layout: '`.clinerules/*.md`',
    here: 'read',
    files: { '.clinerules/one.md': 'ONE' },
    first: ['ONE'],
  },
  {
    from: 'Kiro',
    layout: '`.kiro/steering/*.md` with `inclusion: fileMatch`',
    here: 'read when a call first names such a path',
    files: { ...src, '.kiro/steering/ts.md': rule('inclusion: fileMatch\nfileMatchPattern: "src/**"', 'ONE') },
    touch: 'src/a.ts',
    later: ['ONE'],
  },
  {
    from: 'Junie',
    layout: '`.junie/guidelines.md` alone',
    here: 'read',
    files: { '.junie/guidelines.md': 'ONE' },
    first: ['ONE'],
  },
]
