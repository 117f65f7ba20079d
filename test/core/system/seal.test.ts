import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openSeal } from '../../../build/core/system/index.js'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'vtcode-seal-'))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

describe('key of seals', () => {
  it('creates the key once, for the user alone, and removes old drafts of killed processes', () => {
    const at = (name: string): string => join(home, name)
    const day = new Date(Date.now() - 86_400_000)
    const drafts = ['approvals.key.4711.0badc0de', 'approvals.key.4711.0badc0de.4711']
    const others = [`approvals.key.${process.pid}.0badc0de`, 'approvals.key.backup', 'approvals.key.1.0badc0de.folder']
    const ended = `approvals.key.${spawnSync('true').pid}.0badc0de`
    for (const name of [...drafts, ended, ...others.slice(0, 2)]) writeFileSync(at(name), 'x')
    mkdirSync(at(others[2]!))
    symlinkSync(at('outside'), at('approvals.key.4713.0badc0de'))
    writeFileSync(at('outside'), 'x')
    for (const name of [...drafts, 'approvals.key.backup', 'outside']) utimesSync(at(name), day, day)
    const mark = openSeal(home, '/w').mark('a', 'b', 'c')
    expect([...drafts, ended, ...others, 'outside'].map((name) => existsSync(at(name)))).toEqual([
      false,
      false,
      false,
      true,
      true,
      true,
      true,
    ])
    expect([readFileSync(at('approvals.key')).length, statSync(at('approvals.key')).mode & 0o777, mark]).toEqual([
      32,
      0o600,
      expect.stringMatching(/^[0-9a-f]{32}$/),
    ])
  })
})

describe('seal', () => {
  it('accepts a seal for one sort of state, place, workspace and user only', () => {
    const other = mkdtempSync(join(tmpdir(), 'vtcode-seal-'))
    const seal = openSeal(home, '/w')
    const text = seal.write('call', 'p', { a: 1 })
    expect(seal.read('call', 'p', text)).toEqual({ a: 1 })
    const wrong = [
      seal.read('checkpoint', 'p', text),
      seal.read('call', 'q', text),
      openSeal(home, '/v').read('call', 'p', text),
      openSeal(other, '/w').read('call', 'p', text),
      seal.read('call', 'p', text.replace('1', '2')),
      seal.read('call', 'p', `${text.slice(0, -1)},"b":2}`),
      seal.read('call', 'p', `${text}x`),
    ]
    expect(wrong).toEqual(wrong.map(() => undefined))
    rmSync(other, { recursive: true })
  })
})
