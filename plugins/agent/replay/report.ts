import { visibleLine } from '../../../core/text/index.js'
import type { SessionReplay } from './replay.js'

/** Formats the result of one session as lines. */
export function formatReplay(result: SessionReplay): string[] {
  const { session_id, status, reason, difference, requests, turns, left_out } = result
  if (status === 'unknown') return [`${session_id}: not compared. ${reason}`].map(visibleLine)
  if (!difference)
    return [
      `${session_id}: equal, ${requests} compared in ${turns} ${turns === 1 ? 'turn' : 'turns'}` +
        `${left_out > 0 ? `, ${left_out} left out` : ''}.`,
    ]
  const { turn, step, where, recorded, present } = difference
  return [
    `${session_id}: different in turn ${turn}, answer ${step}: ${where}`,
    `  recorded: ${recorded}`,
    `  present:  ${present}`,
  ].map(visibleLine)
}

/** Returns the row of a session in the table of all. */
export function toReplayRow({ session_id, status, turns, requests, reason, difference }: SessionReplay): string[] {
  const why = difference ? `turn ${difference.turn}, answer ${difference.step}: ${difference.where}` : (reason ?? '')
  return [session_id, status, String(turns), String(requests), visibleLine(why).slice(0, 120)]
}

/** Replaces what XML cannot hold, and escapes its marks. */
const toXml = (text: string): string =>
  text
    .replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, '\ufffd')
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd')
    .replace(/[&<>"']/g, (mark) => `&#${mark.charCodeAt(0)};`)
    .replace(/[\t\n\r]/g, (mark) => `&#${mark.charCodeAt(0)};`)

/** A case of a JUnit report. */
export interface JunitCase {
  name: string
  seconds: number
  failure?: { message: string; text: string }
  skipped?: string
}

/** Formats a JUnit XML report, as CI servers read it. */
export function formatJunit(suite: string, cases: readonly JunitCase[]): string {
  const count = (key: 'failure' | 'skipped') => cases.filter((one) => one[key] !== undefined).length
  const sum = cases.reduce((all, { seconds }) => all + seconds, 0).toFixed(3)
  const counts =
    `tests="${cases.length}" failures="${count('failure')}" errors="0" ` + `skipped="${count('skipped')}" time="${sum}"`
  const lines = cases.flatMap(({ name, seconds, failure, skipped }) => {
    const head = `    <testcase classname="${toXml(suite)}" name="${toXml(name)}" time="${seconds.toFixed(3)}"`
    if (failure)
      return [
        `${head}>`,
        `      <failure message="${toXml(failure.message)}">${toXml(failure.text)}</failure>`,
        '    </testcase>',
      ]
    return skipped === undefined
      ? [`${head}/>`]
      : [`${head}>`, `      <skipped message="${toXml(skipped)}"/>`, '    </testcase>']
  })
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="${toXml(suite)}" ${counts}>`,
    `  <testsuite name="${toXml(suite)}" ${counts}>`,
    ...lines,
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n')
}

/** Converts the result of a session to a case of a JUnit report. */
export function toReplayCase(result: SessionReplay, seconds: number): JunitCase {
  const { session_id, status, reason = '', difference } = result
  if (status === 'unknown') return { name: session_id, seconds, skipped: reason }
  return difference
    ? {
        name: session_id,
        seconds,
        failure: {
          message: `turn ${difference.turn}, answer ${difference.step}: ${difference.where}`,
          text: formatReplay(result).join('\n'),
        },
      }
    : { name: session_id, seconds }
}
