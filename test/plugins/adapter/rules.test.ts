import { expect, it } from 'vitest'
import { bootKernel, matches, tempWorkspace } from 'vtcode/test'

const policy = (rules: object, more: object = {}): string => JSON.stringify({ name: 'house', kind: 'policy', ...more, rules })

it('a policy in data denies and asks in the words of the settings, with the reason it gives', async () => {
  const deny = [{ rule: 'Bash(git push --force *)', reason: 'Rewrites shared history.', match: ['git push --force origin main'], not_match: ['git push'] }, 'Read(.env)']
  await using place = await tempWorkspace({ 'house.yaml': policy({ deny, ask: ['Edit(/docs/**)'], commands: [{ id: 'no_curl', program: 'curl', verdict: 'deny', reason: 'No downloads.' }] }) })
  await using vt = await bootKernel({ manifests: [place.root], files: { '.env': 'x', 'a.txt': 'x', 'docs/a.md': 'x' } })
  const run = (command: string) => vt.call('unified_exec', { action: 'run', command })
  matches(await run('cd . && git push --force origin x'), { ok: false, error: { code: 'VT_POLICY_DENIED', message: 'Rewrites shared history.', hint: 're:.*house\\.yaml.*' } })
  matches(await run('curl example.org'), { ok: false, error: { code: 'VT_POLICY_DENIED', message: 'No downloads.' } })
  matches(await run('true'), { ok: true })
  matches(await vt.call('unified_file', { action: 'read', path: '.env' }), { ok: false, error: { code: 'VT_POLICY_DENIED', message: 're:.*Read\\(\\.env\\).*house.*' } })
  matches(await vt.call('unified_file', { action: 'read', path: 'a.txt' }), { ok: true })
  const edit = { action: 'write', path: 'docs/a.md', content: 'y', mode: 'overwrite' }
  matches(await vt.call('unified_file', edit), { ok: false, error: { code: 'VT_POLICY_NEEDS_APPROVAL' } })
  matches(await vt.call('unified_file', edit, { approve: () => true }), { ok: true })
})

it('one that allows, is misspelt, or whose examples fail shuts instead of opening', async () => {
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

it('one that names slots judges those only', async () => {
  await using place = await tempWorkspace({ 'house.yaml': policy({ deny: ['*'] }, { slots: ['unified_exec/*'] }) })
  await using vt = await bootKernel({ manifests: [place.root], files: { 'a.txt': 'x' } })
  matches(await vt.call('unified_exec', { action: 'run', command: 'true' }), { ok: false, error: { code: 'VT_POLICY_DENIED' } })
  matches(await vt.call('unified_file', { action: 'read', path: 'a.txt' }), { ok: true })
})
