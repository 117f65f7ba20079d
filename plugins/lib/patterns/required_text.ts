/** Strictness under which every named leaf of a pattern occurs literally in a match. */
const LITERAL_STRICTNESS = new Set(['cst', 'smart', 'ast', 'relaxed'])

/** Strictness under which unnamed nodes, such as operators, occur in a match too. */
const WHOLE_STRICTNESS = new Set(['cst', 'smart'])
/** Operators between spaces that are one token in every language. */
const OPERATOR = /(?<=\s)(?:\?\?=?|===|!==|=>|&&=?|\*\*)(?=\s)/

/**
 * Returns a word, or else an operator, that every matching file holds, so that only such files are parsed.
 * `undefined` if none is certain: a selector may exclude the word, and a comment in the pattern need not match.
 */
export function findRequiredText(
  pattern: string | undefined,
  strictness = 'smart',
  selector?: string,
): string | undefined {
  if (
    pattern === undefined ||
    selector !== undefined ||
    !LITERAL_STRICTNESS.has(strictness) ||
    /\/\/|\/\*|#|--|<!--/.test(pattern)
  )
    return undefined
  const words = pattern.replace(/\$+\w*/g, ' ').match(/[A-Za-z_]\w{2,}/g) ?? []
  // Keywords are unnamed leaves, which a match may lack under some strictness.
  const [longest] = words.filter((word) => !KEYWORDS.has(word)).sort((a, b) => b.length - a.length)
  return longest ?? (WHOLE_STRICTNESS.has(strictness) ? OPERATOR.exec(pattern)?.[0] : undefined)
}

const KEYWORDS = new Set(
  (
    'abstract and any array async await begin bool break case catch char class const constexpr continue declare ' +
    'def default defer del delete do dyn each elif else elsif end enum except explicit export extends extern ' +
    'false final finally float fn for foreach from func function global goto guard if impl implements import in ' +
    'include inline instanceof int interface internal interface is lambda let long match mod module move mut ' +
    'mutable namespace new nil none None nonlocal not null object open operator or override package pass private ' +
    'protected pub public raise readonly record ref require rescue return sealed self short signed sizeof static ' +
    'struct super switch template then this throw throws trait true True False try type typedef typeof typename ' +
    'undef union unless unsafe unsigned until use using val var virtual void volatile when where while with yield'
  ).split(' '),
)
