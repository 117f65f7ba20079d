import { readdirSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { readBytes } from '../documents/index.js'
import { parseCommand, type SkillReading } from './parse.js'

const LIMITS = { files: 500, depth: 4, bytes: 262_144 }

/**
 * Reads the Markdown files of a folder of commands, such as `.claude/commands`, as skills that a person calls by name:
 * `git/commit.md` is `git-commit`. Links are not followed. `skip` gets unreadable files.
 */
export function readCommands(
  root: string,
  skip: (file: string, reason: string) => void,
): { file: string; body: string; reading: SkillReading }[] {
  return listMarkdown(root, LIMITS.depth)
    .slice(0, LIMITS.files)
    .flatMap((file) => {
      try {
        const folder = relative(root, dirname(file))
        const name = toName([folder, basename(file, '.md')].filter(Boolean).join('-'))
        const { skill, body, diagnostics } = parseCommand(
          readBytes(file, { within: root, limit: LIMITS.bytes }),
          file,
          name,
        )
        const prompt = skill && { ...skill, prompt: true, metadata: { ...skill.metadata, source: 'command' } }
        return [{ file, body, reading: { ...(prompt && { skill: prompt }), body, diagnostics } }]
      } catch (error) {
        skip(file, `The file cannot be read: ${(error as Error).message}.`)
        return []
      }
    })
}

function listMarkdown(folder: string, depth: number): string[] {
  if (depth === 0) return []
  const entries = readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))
  return entries.flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return /^\.|^node_modules$/.test(entry.name) ? [] : listMarkdown(path, depth - 1)
    return entry.isFile() && entry.name.endsWith('.md') ? [path] : []
  })
}

const toName = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 64)
    .replace(/-+$/, '') || 'unnamed'
