/** The causes that servers name in their own words, over any status. */
export type FaultKind =
  | 'context'
  | 'output_limit'
  | 'rate'
  | 'quota'
  | 'tools'
  | 'model'
  | 'auth'
  | 'safety'
  | 'loading'

/**
 * Words of servers by cause; the first that matches counts. docs/server-errors.md lists the texts that they are taken
 * from, with server, source and date, and a test reads that page.
 */
const WORDS: readonly [FaultKind, RegExp][] = [
  // Both limits in one text: a shorter conversation helps.
  ['context', /input length and .?max_tokens.? exceed|request too large for\b|reduce the length of the messages/i],
  // Gemini names a short wait here, although the quota of the day is used up.
  ['quota', /PerDay|requires more credits/i],
  ['output_limit', /max_(completion_|output_)?tokens|maxOutputTokens/i],
  [
    'context',
    new RegExp(
      'context.{0,20}(length|window|size)|maximum (context|prompt) length|too many tokens in|(prompt|' +
        'input) (is )?too long|' +
        'exceeds? (the )?(maximum (number of tokens|size|context|model|allowed)|model|max length)|' +
        'longer than the (model|maximum model)|' +
        'range of input length|exceeded model token limit|token count .{0,40}exceeds the limit|request_too_large|' +
        'max_prompt_tokens|exceeded max context|max_new_tokens.{0,20}must be',
      'i',
    ),
  ],
  ['rate', /per.?minute|per min\b|\b[RT]PM\b|(retry|again) (in|after) (about )?\d|too many (requests|tokens)/i],
  [
    'quota',
    new RegExp(
      'insufficient.?(quota|balance|funds|credit)|billing|exceeded.{0,20}current.?quota|' +
        'credit balance|all available credits|' +
        'no credits|spending limit|arrear|in good stand|\u4f59\u989d\u4e0d\u8db3|usage_limit_reached|' +
        'payment required|please recharge|paid account',
      'i',
    ),
  ],
  [
    'safety',
    new RegExp(
      'content.?(management policy|filter)|flagged as|data_?inspection|inappropriate content|content exists risk|' +
        'considered high risk|PROHIBITED_CONTENT',
      'i',
    ),
  ],
  [
    'tools',
    new RegExp(
      '(does not|doesn.t|not) support(ed)? (the )?(tool|function)|support tool use|' +
        'enable-auto-tool-choice|requires --jinja|' +
        '(tool|function)[ _-]call(ing|s)? (is|are) not (supported|enabled)',
      'i',
    ),
  ],
  ['loading', /loading model|(is|still) (currently )?loading|not ready yet|ModelNotReady/i],
  [
    'model',
    new RegExp(
      'model.{0,120}(not found|not.?exist|is not supported|is invalid|decommissioned)|model_not_found|unknown model|' +
        'invalid model|not a valid model|DeploymentNotFound|no models? (is )?loaded|unable to access model|' +
        'deployment for this resource does not exist',
      'i',
    ),
  ],
  // The type of an error says so even for a quota.
  ['rate', /rate.?limit|resource.{0,20}exhausted/i],
  [
    'auth',
    /api.?key.{0,20}(not valid|invalid|incorrect|missing)|(invalid|incorrect).{0,20}api.?key|no auth credentials/i,
  ],
]

/** Returns the cause that a server names. A limit of requests counts only where it cannot be a remark. */
export function findFaultKind(status: number, text: string): FaultKind | undefined {
  // Only these refuse the request itself; a server that fails may quote anything.
  const kinds = WORDS.filter(([kind]) => status < 500 || ['loading', 'context', 'rate', 'tools'].includes(kind))
  return kinds.find(([, pattern]) => pattern.test(text))?.[0]
}

const UNIT_MS: readonly [RegExp, number][] = [
  [/^m(illi)?s/, 1],
  [/^s/, 1_000],
  [/^m/, 60_000],
  [/^h/, 3_600_000],
  [/^d/, 86_400_000],
]
const AMOUNT = String.raw`\d+(?:\.\d+)?\s*(?:milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|h|days?|d)`
const WAIT = new RegExp(
  String.raw`(?:again|retry|wait|reset)\w{0,20}[^\d.]{0,30}((?:${AMOUNT}\s*)+)\b|"retryDelay":\s*"([^"]+)"`,
  'i',
)

/** Returns the milliseconds for which a server asks to wait in words, such as "Please try again in 1m3.5s". */
export function readWait(text: string): number | undefined {
  const seconds = /"resets_in_seconds":\s*(\d+)/.exec(text)?.[1]
  if (seconds !== undefined) return Number(seconds) * 1_000
  const found = WAIT.exec(text)
  const words = found?.[1] ?? found?.[2]
  if (words === undefined) return undefined
  const amounts = [...words.toLowerCase().matchAll(/(\d+(?:\.\d+)?)\s*([a-z]+)/g)]
  const sum = amounts.reduce((total, [, amount, unit]) => total + Number(amount) * toMs(unit!), 0)
  return amounts.length === 0 ? undefined : Math.ceil(sum)
}

const toMs = (unit: string): number => UNIT_MS.find(([pattern]) => pattern.test(unit))?.[1] ?? 1_000
