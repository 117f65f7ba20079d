import { unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Booted } from 'vtcode/test'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { bootExec, error, output } from '../../support/exec.js'

let booted: Booted
beforeEach(async () => {
  booted = await bootExec()
})
afterEach(() => booted[Symbol.asyncDispose]())
const run = (input: object) => output(booted, { action: 'run', session_id: 's', ...input })
const inspect = (input: object = {}) => output(booted, { action: 'inspect', session_id: 's', ...input })

describe('unified_exec/inspect', () => {
  it('shows both ends of a log without consuming it', async () => {
    await run({ command: 'seq 1 10; echo oops >&2', background: true, yield_time_ms: 30_000 })
    expect(await inspect({ stream: 'stdout', head_lines: 2, tail_lines: 1 })).toMatchObject({
      output: '1\n2\n[… 7 lines omitted …]\n10\n',
      total_lines: 10,
      truncated: true,
    })
    expect(await inspect({ stream: 'stdout', head_lines: 5, tail_lines: 5 })).toMatchObject({
      output: '1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n',
      truncated: false,
    })
    expect(await inspect({ stream: 'stdout', head_lines: 0, tail_lines: 0 })).toMatchObject({
      output: '[… 10 lines omitted …]\n',
      total_lines: 10,
    })
    expect(await inspect({ stream: 'stderr' })).toMatchObject({ output: 'oops\n', total_lines: 1 })
    expect(await inspect({ tail_lines: 3, head_lines: 0 })).toMatchObject({
      output: '[… 9 lines omitted …]\n10\n[stderr]\noops\n',
      total_lines: 12,
    })
    expect((await output(booted, { action: 'poll', session_id: 's', cursor: 0 })).stdout).toBe(
      '1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n',
    )
  })

  it('keeps a last line without a line end unchanged', async () => {
    await run({ command: ['printf', 'a\\nb'] })
    expect(await inspect()).toMatchObject({ output: 'a\nb', total_lines: 2, truncated: false })
    await run({ command: ['true'], session_id: 'empty' })
    expect(await inspect({ session_id: 'empty' })).toMatchObject({ output: '', total_lines: 0 })
  })

  it('searches with ripgrep in memory and on disk, and in terminals without their escape sequences', async () => {
    await run({ command: 'seq 1 200000', max_output_tokens: 10 })
    expect(await inspect({ query: '^19999\\d$' })).toMatchObject({
      matched_count: 10,
      matches: Array.from({ length: 10 }, (_, index) => ({
        line_number: 199990 + index,
        text: String(199990 + index),
      })),
    })
    expect(await inspect({ query: '7', max_matches: 2 })).toMatchObject({
      matched_count: 81902,
      matches: [{ line_number: 7 }, { line_number: 17 }],
      truncated: true,
    })
    await run({ command: 'printf "a.b\\nacb\\n\\033[31mred\\033[0m\\n"', tty: true, session_id: 't' })
    expect(await inspect({ session_id: 't', query: 'a.b', literal: true })).toMatchObject({ matched_count: 1 })
    expect(await inspect({ session_id: 't', query: '^red$' })).toMatchObject({
      matches: [{ line_number: 3, text: 'red' }],
    })
    expect(await inspect({ query: 'none' })).toMatchObject({ matched_count: 0, matches: [] })
    expect(await error(booted, { action: 'inspect', session_id: 's', query: '(' })).toMatchObject({
      code: 'VT_SEARCH_PATTERN',
    })
  })

  it('fails with VT_SEARCH_TIMEOUT if ripgrep does not finish, instead of counting a part', async () => {
    await using slow = await bootExec({ timeouts: { engine: 500 } })
    await output(slow, { action: 'run', session_id: 's', command: 'seq 1 10' })
    writeFileSync(join(slow.home, 'rg'), '#!/bin/sh\necho 1:1\nexec sleep 100\n', { mode: 0o755 })
    vi.stubEnv('VTCODE_RIPGREP_BIN', join(slow.home, 'rg'))
    try {
      expect(await error(slow, { action: 'inspect', session_id: 's', query: '1' })).toMatchObject({
        code: 'VT_SEARCH_TIMEOUT',
        message: "The query '1' did not finish within 0.5 s.",
        retryable: true,
      })
    } finally {
      vi.unstubAllEnvs()
    }
  })

  it('reads a spool file, also after its session is forgotten, and reports a removed one', async () => {
    const { spool_path } = await run({ command: 'seq 1 3000', max_output_tokens: 10 })
    await output(booted, { action: 'close', session_id: 's' })
    expect(await output(booted, { action: 'inspect', spool_path, head_lines: 1, tail_lines: 1 })).toMatchObject({
      spool_path,
      output: '1\n[… 2998 lines omitted …]\n3000\n',
      total_lines: 3000,
    })
    expect(await output(booted, { spool_path, query: '^3000$' })).toMatchObject({ matches: [{ line_number: 3000 }] })
    unlinkSync(join(booted.root, spool_path))
    expect(await error(booted, { action: 'inspect', spool_path })).toMatchObject({ code: 'VT_EXEC_SPOOL' })
  })

  it('refuses fields that exclude each other', async () => {
    const refused = (input: object) => error(booted, { action: 'inspect', ...input })
    expect(await refused({})).toMatchObject({ code: 'VT_INPUT_MISSING' })
    expect(await refused({ session_id: 's', spool_path: '.vtcode/spool/x' })).toMatchObject({
      code: 'VT_INPUT_CONFLICT',
    })
    for (const other of [{ head_lines: 1 }, { tail_lines: 1 }, { screen: true }]) {
      expect(await refused({ session_id: 's', query: 'x', ...other })).toMatchObject({ code: 'VT_INPUT_CONFLICT' })
    }
    expect(await refused({ spool_path: '.vtcode/config.yaml' })).toMatchObject({ code: 'VT_INPUT_INVALID' })
    await run({ command: 'true' })
    expect(await refused({ session_id: 's', screen: true })).toMatchObject({ code: 'VT_INPUT_INVALID' })
  })
})
