/**
 * Names of instruction files and rules of other programs, in the folder that they count for: Claude Code, Codex, Gemini
 * CLI, Copilot, Cursor, Windsurf, Cline, Kiro and Junie. The orders of Cursor, Windsurf, Kiro and Junie are unverified.
 */

/** The file of Claude Code for one folder, from the first place that exists. */
export const CLAUDE_FILES = ['CLAUDE.md', '.claude/CLAUDE.md'] as const
/** The person's own additions, which are not in the repository. Read last. */
export const LOCAL_FILES = ['CLAUDE.local.md', '.claude/CLAUDE.local.md'] as const

/** Single files of other programs. One of them is read where a folder has no other instructions. */
export const SINGLE_FILES = [
  '.github/copilot-instructions.md',
  '.cursorrules',
  '.windsurfrules',
  '.clinerules',
  '.junie/guidelines.md',
] as const

/** Folders of rules at the root of a workspace, with the ends of their names. */
export const RULE_FOLDERS: readonly (readonly [folder: string, end: RegExp])[] = [
  ['.vtcode/rules', /\.md$/],
  ['.claude/rules', /\.md$/],
  ['.cursor/rules', /\.mdc?$/],
  ['.github/instructions', /\.instructions\.md$/],
  ['.windsurf/rules', /\.md$/],
  ['.clinerules', /\.(?:md|txt)$/],
  ['.kiro/steering', /\.md$/],
]

/** Instruction files of the user, below the home folder, for every workspace. The first that exists is read. */
export const USER_FILES = ['.claude/CLAUDE.md', '.codex/AGENTS.md', '.gemini/GEMINI.md'] as const
/** The folder of rules of a user of Claude Code, below the home folder. */
export const USER_RULES = '.claude/rules'
