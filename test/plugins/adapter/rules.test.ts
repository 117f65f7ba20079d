import { expect, it } from 'vitest'
import { bootKernel, matches, tempWorkspace } from 'vtcode/test'

const policy = (rules: object, more: object = {}): string =>
  JSON.stringify({ name: 'house', kind: 'policy', ...more, rules })

it('denies and asks by a data policy in the syntax of the settings, with its reason', async () => {
  const deny = [
    {
      rule: 'Bash(git push --force *)',
      reason: 'Rewrites shared history.',
      match: ['git push --force origin main'],
      not_match: ['git push'],
    },
    'Read(.env)',
  ]
  await using place = await tempWorkspace({
    'house.yaml': policy({
      deny,
      ask: ['Edit(/docs/**)'],
      commands: [{ id: 'no_curl', program: 'curl', verdict: 'deny', reason: 'No downloads.' }],
    }),
  })
  await using vt = await bootKernel({ manifests: [place.root], files: { '.env': 'x', 'a.txt': 'x', 'docs/a.md': 'x' } })
  const run = (command: string) => vt.call('unified_exec', { action: 'run', command })
  matches(await run('cd . && git push --force origin x'), {
    ok: false,
    error: { code: 'VT_POLICY_DENIED', message: 'Rewrites shared history.', hint: 're:.*house\\.yaml.*' },
  })
  matches(await run('curl example.org'), { ok: false, error: { code: 'VT_POLICY_DENIED', message: 'No downloads.' } })
  matches(await run('true'), { ok: true })
  matches(await vt.call('unified_file', { action: 'read', path: '.env' }), {
    ok: false,
    error: { code: 'VT_POLICY_DENIED', message: 're:.*Read\\(\\.env\\).*house.*' },
  })
  matches(await vt.call('unified_file', { action: 'read', path: 'a.txt' }), { ok: true })
  const edit = { action: 'write', path: 'docs/a.md', content: 'y', mode: 'overwrite' }
  matches(await vt.call('unified_file', edit), { ok: false, error: { code: 'VT_POLICY_NEEDS_APPROVAL' } })
  matches(await vt.call('unified_file', edit, { approve: () => true }), { ok: true })
})

it('fails closed when a data policy would allow, fails its own examples or has an unknown key', async () => {
  const lifts = { commands: [{ id: 'all', program: 'rm', verdict: 'allow' }] }
  for (const rules of [lifts, { deny: [{ rule: 'Bash(rm *)', match: ['ls'] }] }]) {
    await using place = await tempWorkspace({ 'house.yaml': policy(rules) })
    await using vt = await bootKernel({ manifests: [place.root] })
    matches(await vt.call('unified_search', { action: 'list' }), { ok: false, error: { code: 'VT_POLICY_DENIED' } })
  }
  for (const rules of [{ allow: ['Bash(rm *)'] }, { denny: ['x'] }]) {
    await using place = await tempWorkspace({ 'house.yaml': policy(rules) })
    await expect(bootKernel({ manifests: [place.root] })).rejects.toThrow(/house/)
  }
})

it('applies a data policy only to the slots that it names', async () => {
  await using place = await tempWorkspace({ 'house.yaml': policy({ deny: ['*'] }, { slots: ['unified_exec/*'] }) })
  await using vt = await bootKernel({ manifests: [place.root], files: { 'a.txt': 'x' } })
  matches(await vt.call('unified_exec', { action: 'run', command: 'true' }), {
    ok: false,
    error: { code: 'VT_POLICY_DENIED' },
  })
  matches(await vt.call('unified_file', { action: 'read', path: 'a.txt' }), { ok: true })
})

it('applies the stricter of two limits of data policies, whatever their order', async () => {
  const limits = {
    'unified_search/grep': { max_results_per_call: 2, max_calls_per_minute: 3 },
    read_file: { max_bytes_per_read: 4 },
  }
  await using place = await tempWorkspace({ 'house.yaml': policy({ constraints: limits }) })
  const config = {
    policy: { constraints: { grep_search: { max_results_per_call: 1 }, read_file: { max_bytes_per_read: 100 } } },
  }
  await using vt = await bootKernel({ manifests: [place.root], config, files: { 'a.txt': 'x1\nx2\nx3\n' } })
  const grep = (pattern: string) => vt.call('unified_search', { action: 'grep', pattern, path: 'a.txt' })
  const found = await grep('x')
  expect(found.ok && found.output['matches']).toHaveLength(1)
  matches(await vt.call('unified_file', { action: 'read', path: 'a.txt' }), { ok: true, output: { content: 'x1\nx' } })
  await grep('x1')
  await grep('x2')
  matches(await grep('x3'), { ok: false, error: { code: 'VT_POLICY_RATE' } })
})
