import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execFileSync } from 'node:child_process'

/** 1,000 skills: listed by a program that has just started, and one of them loaded. Each round is a process of its own. */
export default async () => {
  const root = mkdtempSync(join(tmpdir(), 'vtcode-bench-'))
  try {
    for (let i = 0; i < 1000; i++) write(join(root, `.agents/skills/skill-${i}`), i)
    const rounds = Array.from({ length: 5 }, () =>
      JSON.parse(
        execFileSync(process.execPath, ['--input-type=module', '-e', script(root)], {
          cwd: process.cwd(),
          encoding: 'utf8',
        }),
      ),
    )
    const best = (key) => Math.min(...rounds.map((round) => round[key]))
    return [
      {
        name: '1,000 skills, listed cold',
        goal: 400,
        ratio: best('list'),
        unit: 'ms',
        detail: `best of 5 processes: the first list_skills of a kernel, its libraries included; ${best('cpu').toFixed(0)} ms of processor time`,
      },
      {
        name: '1,000 skills, one loaded',
        goal: 2,
        ratio: best('load'),
        unit: 'ms',
        detail: 'best of 5 processes: median of 100 loads',
      },
    ]
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

const script = (root) => `
  import { createKernel } from 'vtcode'
  const kernel = await createKernel({ workspace: ${JSON.stringify(root)}, home: ${JSON.stringify(join(root, 'home'))}, env: {} })
  const timed = async (tool, input) => {
    const began = performance.now()
    const spent = process.cpuUsage()
    const result = await kernel.call(tool, input)
    if (!result.ok) throw new Error(result.error.message)
    const { user, system } = process.cpuUsage(spent)
    return [performance.now() - began, result.output, (user + system) / 1000]
  }
  const [list, { total }, cpu] = await timed('list_skills', { scope: 'workspace' })
  if (total !== 1000) throw new Error(total + ' skills')
  const loads = []
  for (let i = 0; i < 100; i++) loads.push((await timed('load_skill', { name: 'skill-' + i * 7 }))[0])
  console.log(JSON.stringify({ list, cpu, load: loads.sort((a, b) => a - b)[50] }))
  await kernel.close()
`

function write(folder, i) {
  mkdirSync(join(folder, 'references'), { recursive: true })
  writeFileSync(join(folder, 'references/more.md'), 'More.\n')
  const file = join(folder, 'SKILL.md')
  writeFileSync(
    file,
    `---\nname: skill-${i}\ndescription: >-\n  Does thing ${i}. Use when the user asks for thing ${i} or mentions it by another name.\nlicense: MIT\nmetadata:\n  author: someone\n---\n# Title\n\n${'Some text of the body.\n'.repeat(100)}`,
  )
  utimesSync(file, new Date(0), new Date(0))
}
